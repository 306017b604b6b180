import type { Requestor, Runtime } from "../runtime/runtime.ts";
import { isUnknownTask } from "../task/fault.ts";
import type { Progress, TaskRecord } from "../task/record.ts";
import type { LogLevel, LogText } from "../task/task-line.ts";
import { isAtLeast, logMessage } from "../generation/message.ts";
import { cutText } from "../task/stored-text.ts";
import type { Clock } from "../runtime/clock.ts";
import { furthest } from "../task/decide.ts";

/** A line of a task's log, with its number. */
export interface LogLine extends LogText {
  readonly seq: number;
}

/** Maximum number of lines read at once; if there are more, the newest ones. */
const mostLines = 1_000;

/** The lines with numbers above `after` that this state of the task counts, and that are kept; none of a task that is gone. */
export async function logLines(
  runtime: Pick<Runtime, "lines">,
  { id, logged }: TaskRecord,
  requestor: Requestor,
  after: number,
): Promise<readonly LogLine[]> {
  if (after >= logged) return [];
  const page = { list: "log", after: Math.max(after, logged - mostLines), limit: mostLines } as const;
  try {
    const lines = await runtime.lines(id, requestor, page, "unasked");
    return lines
      .filter(({ seq }) => seq <= logged) // those after it belong to the next state
      .map(({ seq, body }) => ({ ...(JSON.parse(body) as LogText), seq }));
  } catch (error) {
    if (isUnknownTask(error)) return [];
    throw error;
  }
}

/** Maximum text of a line shown with progress, in code points. */
const mostText = 500;

/** Lines before the handler's first report are progress, too: each counts a thousandth, so that reports are mostly further. */
const lineShare = 1_000;

/** The newest line whose text is shown with progress: debug lines are not. */
export function newestShown(lines: readonly LogLine[]): LogLine | undefined {
  return lines.findLast((line) => isAtLeast("info", line));
}

/**
 * The progress that a client sees: the handler's report, with the newest line of its log if the report has no message; before the first
 * report, the line alone. Undefined if there is neither.
 */
export function shownProgress(own: Progress | null, line: LogLine | undefined): Progress | undefined {
  if (line === undefined) return own ?? undefined;
  const message = cutText(line.text, mostText);
  return own === null ? { progress: line.seq / lineShare, message } : { message, ...own };
}

/** What clients may have seen of a task before, so that they get what is newer. Undefined if that is unknown. */
export function sentProgress({ progress, logged }: TaskRecord): number | undefined {
  return progress !== null || logged === 0 ? undefined : logged / lineShare;
}

/** Number of progress reports sent at once; after those, one per pause. Handlers may report as often as they like. */
const burst = 10;
const pauseMs = 100;

/** A call that is answered without a task. */
interface DirectCall {
  readonly clock: Clock;
  readonly tool: string;
  /** Undefined: its client wants no progress. */
  readonly progressToken: string | number | undefined;
  /** From which level on its client wants log messages now; undefined: it wants none. */
  readonly logLevel: () => LogLevel | undefined;
  /** Sends a notification on the stream of the call. */
  readonly notify: (method: string, params: object) => void;
}

/** Sends what a handler without a task tells its client, until the call is answered. */
export class DirectReports {
  readonly #call: DirectCall;
  #own: Progress | null = null;
  #line: LogLine | undefined;
  #lines = 0;
  /** Progress has to grow with each notification. */
  #last: number | undefined;
  /** How many notifications may go out now, as of `#countedAt`, by the time elapsed. */
  #allowed = burst;
  #countedAt: number;
  #cancelTimer: (() => void) | undefined;
  #over = false;

  constructor(call: DirectCall) {
    this.#call = call;
    this.#countedAt = call.clock.elapsed();
  }

  readonly progress = (report: Progress): void => {
    this.#own = furthest(this.#own, report);
    this.#sendProgress();
  };

  readonly log = (text: LogText): void => {
    if (this.#over) return;
    const { tool, logLevel, notify } = this.#call;
    const line = { ...text, seq: ++this.#lines };
    const least = logLevel();
    if (least !== undefined && isAtLeast(least, line)) {
      const { method, params } = logMessage(tool, line);
      notify(method, params);
    }
    this.#line = newestShown([line]) ?? this.#line;
    if (this.#own === null) this.#sendProgress();
  };

  /** The call is about to be answered: sends the last progress, and nothing of what comes after. */
  end(): void {
    if (this.#cancelTimer !== undefined) this.#sendNow();
    this.#over = true;
  }

  /** Progress not sent at once is part of a later report, since each is cumulative. */
  #sendProgress(): void {
    const { progressToken, clock } = this.#call;
    if (this.#over || progressToken === undefined || this.#cancelTimer !== undefined) return;
    this.#refill();
    if (this.#allowed >= 1) return this.#sendNow();
    this.#cancelTimer = clock.after(Math.ceil((1 - this.#allowed) * pauseMs), () => this.#sendNow());
  }

  #sendNow(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const { progressToken, notify } = this.#call;
    const report = shownProgress(this.#own, this.#line);
    if (report === undefined || (this.#last !== undefined && report.progress <= this.#last)) return;
    this.#last = report.progress;
    this.#refill();
    this.#allowed = Math.max(0, this.#allowed - 1);
    notify("notifications/progress", { progressToken, ...report });
  }

  #refill(): void {
    const now = this.#call.clock.elapsed();
    this.#allowed = Math.min(burst, this.#allowed + (now - this.#countedAt) / pauseMs);
    this.#countedAt = now;
  }
}

import { isAtLeast, logMessage } from "../../generation/message.ts";
import type { Clock } from "../../runtime/clock.ts";
import { furthest } from "../../task/decide.ts";
import type { Progress } from "../../task/record.ts";
import type { LogLevel, LogText } from "../../task/task-line.ts";
import type { LogLine } from "./log-lines.ts";
import { newestShown, shownProgress } from "./shown-progress.ts";

/** Number of progress reports sent at once; after those, one per pause. Handlers may report as often as they like. */
const burst = 10;
const pauseMs = 100;

/** A call that is answered without a task. */
export interface DirectCall {
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

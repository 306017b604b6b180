import { isAtLeast, logMessage } from "../../generation/log-message.ts";
import type { Progress } from "../../task/record.ts";
import type { LogLevel, LogText } from "../../task/task-line.ts";
import type { LogLine } from "./log-lines.ts";
import { newestShown, shownProgress } from "./shown-progress.ts";

/** A call that is answered without a task. */
export interface DirectCall {
  readonly tool: string;
  /** Undefined: its client wants no progress. */
  readonly progressToken: string | number | undefined;
  /** From which level on its client wants log messages now; undefined: it wants none. */
  readonly logLevel: () => LogLevel | undefined;
  /** Sends a notification on the stream of the call. */
  readonly notify: (method: string, params: object) => void;
}

/** What a handler without a task tells its client, until the call is answered. */
export class DirectReports {
  readonly #call: DirectCall;
  #own: Progress | null = null;
  #line: LogLine | undefined;
  #lines = 0;
  /** Progress has to grow with each notification. */
  #last: number | undefined;
  #over = false;

  constructor(call: DirectCall) {
    this.#call = call;
  }

  readonly progress = (report: Progress): void => {
    this.#own = report;
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

  /** The call is answered: what comes now belongs to none. */
  end(): void {
    this.#over = true;
  }

  #sendProgress(): void {
    const { progressToken, notify } = this.#call;
    const report = shownProgress(this.#own, this.#line);
    if (this.#over || progressToken === undefined || report === undefined) return;
    if (this.#last !== undefined && report.progress <= this.#last) return;
    this.#last = report.progress;
    notify("notifications/progress", { progressToken, ...report });
  }
}

import type { Clock } from "../../runtime/clock.ts";
import type { JsonObject } from "../../generation/message.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { LogLine } from "../log/log-lines.ts";
import { shownProgress } from "../log/shown-progress.ts";

/** After so much silence, in ms, the client gets a report. Clients give up after a minute or less. */
const silenceMs = 15_000;

/**
 * Sends progress to the client of a waiting call: the handler's reports, or logs before those, and, if there is nothing new, the last
 * report again. Many clients reset their timeouts with each report. The protocol demands that progress grows, so a repeated report is
 * larger by the smallest possible amount.
 */
export class KeepAlive {
  readonly #clock: Clock;
  readonly #send: (params: JsonObject) => void;
  #last: number | undefined;
  #task: TaskRecord | undefined;
  #line: LogLine | undefined;
  #cancelTimer: () => void = () => undefined;

  /** `sent`: the progress that the client may already have. */
  constructor(clock: Clock, send: (params: JsonObject) => void, sent?: number) {
    this.#clock = clock;
    this.#send = send;
    this.#last = sent;
    this.#arm();
  }

  /** The task as it is now, and the newest line of its log that goes with progress. */
  changed(task: TaskRecord, line?: LogLine): void {
    this.#task = task;
    this.#line = line;
    const report = shownProgress(task.progress, line);
    if (report === undefined || task.finishedAt !== null) return;
    if (this.#last !== undefined && report.progress <= this.#last) return;
    this.#report({ ...report });
  }

  stop(): void {
    this.#cancelTimer();
  }

  #arm(): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.after(silenceMs, () => this.#tick());
  }

  #tick(): void {
    const last = this.#last;
    const progress = last === undefined ? 0 : last + Math.max(1e-6, Math.abs(last) * 1e-12);
    const { total } = this.#task?.progress ?? {};
    const shown = shownProgress(this.#task?.progress ?? null, this.#line);
    const message = shown?.message ?? this.#task?.statusMessage ?? undefined;
    this.#report({
      progress,
      ...(total !== undefined && total >= progress ? { total } : {}),
      ...(message === undefined ? {} : { message }),
    });
  }

  #report(report: JsonObject & { readonly progress: number }): void {
    this.#last = report.progress;
    this.#send(report);
    this.#arm();
  }
}

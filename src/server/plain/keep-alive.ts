import type { Clock } from "../../runtime/clock.ts";
import type { JsonObject } from "../../generation/json-object.ts";
import type { TaskRecord } from "../../task/record.ts";

/** After so much silence, in ms, the client gets a report. Clients give up after a minute or less. */
const silenceMs = 15_000;

/**
 * Sends progress to the client of a call that waits: what the handler reports and, while it reports nothing, the last
 * report again. Many clients reset their timeouts with each report. The protocol demands that progress grows, so a
 * repeated report is larger by the least amount.
 */
export class KeepAlive {
  readonly #clock: Clock;
  readonly #send: (params: JsonObject) => void;
  #last: number | undefined;
  #task: TaskRecord | undefined;
  #callOff: () => void = () => undefined;

  constructor(clock: Clock, send: (params: JsonObject) => void) {
    this.#clock = clock;
    this.#send = send;
    this.#arm();
  }

  /** The task as it is now. */
  changed(task: TaskRecord): void {
    this.#task = task;
    if (task.progress === null || task.finishedAt !== null) return;
    if (this.#last !== undefined && task.progress.progress <= this.#last) return;
    this.#report({ ...task.progress });
  }

  stop(): void {
    this.#callOff();
  }

  #arm(): void {
    this.#callOff();
    this.#callOff = this.#clock.after(silenceMs, () => this.#tick());
  }

  #tick(): void {
    const last = this.#last;
    const progress = last === undefined ? 0 : last + Math.max(1e-6, Math.abs(last) * 1e-12);
    const { total, message = this.#task?.statusMessage ?? undefined } = this.#task?.progress ?? {};
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

import type { Clock } from "../../runtime/clock.ts";
import type { JsonObject } from "../../generation/json-object.ts";
import type { TaskRecord } from "../../task/record.ts";

/** How long a caller hears nothing before it is told that its call goes on. Clients give up after a minute or less. */
const silenceMs = 15_000;

/**
 * Progress of a call that waits, to a caller that gave a token: what its handler reports, and where that is silent a
 * report that is a trifle larger than the last, since progress has to grow and many clients take each report as a sign
 * of life.
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
  heard(task: TaskRecord): void {
    this.#task = task;
    if (task.progress === null || task.finishedAt !== null) return;
    if (this.#last !== undefined && task.progress.progress <= this.#last) return;
    this.#tell({ ...task.progress });
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
    this.#tell({
      progress,
      ...(total !== undefined && total >= progress ? { total } : {}),
      ...(message === undefined ? {} : { message }),
    });
  }

  #tell(report: JsonObject & { readonly progress: number }): void {
    this.#last = report.progress;
    this.#send(report);
    this.#arm();
  }
}

import type { RemoteTask } from "../task/remote-task.ts";
import type { TaskAttendant } from "../task-protocol.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import type { SeenTask } from "./read-task.ts";
import { ResultVigil } from "./result-vigil.ts";
import { TaskAskings } from "./task-askings.ts";

/** What this client keeps of one task of a server: its questions, those who wait, and what a poll does not tell. */
export class TaskRoom {
  readonly askings: TaskAskings;
  readonly #vigil: ResultVigil;
  readonly #attendants = new Set<TaskAttendant>();
  /** As the server told it last. */
  #seen: SeenTask | undefined;

  constructor(taskId: string, requester: RawRequester) {
    this.askings = new TaskAskings(taskId, requester);
    this.#vigil = new ResultVigil(taskId, requester);
  }

  /** The result that came before the end was polled. */
  get result(): ResultVigil["result"] {
    return this.#vigil.result;
  }

  get isEmpty(): boolean {
    return this.#attendants.size === 0 && this.askings.size === 0;
  }

  enter(attendant: TaskAttendant, known: RemoteTask | undefined): void {
    this.#attendants.add(attendant);
    if (known?.status === "working") this.#seen ??= known;
    if (this.askings.size > 0) this.askingsChanged();
  }

  leave(attendant: TaskAttendant): void {
    this.#attendants.delete(attendant);
    if (this.#attendants.size === 0) this.#vigil.leave();
  }

  /** Takes the state of a task that goes on, and gives it back with the questions that it has. */
  goesOn(seen: SeenTask): RemoteTask {
    if (this.#seen === undefined || this.#seen.lastUpdatedAt <= seen.lastUpdatedAt) this.#seen = seen;
    const waits = seen.status === "input_required";
    if (!waits) this.askings.dropLost();
    if (waits && this.#attendants.size > 0) this.#vigil.hold(() => this.hint());
    return shown(seen, this.askings);
  }

  /** Takes what the server says of the task by itself. */
  told(seen: SeenTask): void {
    switch (seen.status) {
      case "working":
      case "input_required":
        return this.#push(this.goesOn(seen));
      case "cancelled":
        return this.#push({ ...seen, status: "cancelled" });
      case "completed":
      case "failed": // what with, a poll finds out
        return this.hint();
    }
  }

  /** A question came or went, which the server's own record of the task may not show. */
  askingsChanged(): void {
    if (this.#seen === undefined) this.hint();
    else this.#push(shown(this.#seen, this.askings));
  }

  hint(): void {
    for (const attendant of this.#attendants) attendant.onHint();
  }

  #push(task: RemoteTask): void {
    for (const attendant of this.#attendants) attendant.onTask(task);
  }
}

/** With a question there it waits for input, also where its server says so only later. */
function shown(seen: SeenTask, askings: TaskAskings): RemoteTask {
  if (askings.size === 0 && seen.status === "working") return { ...seen, status: "working" };
  return { ...seen, status: "input_required", inputRequests: askings.open() };
}

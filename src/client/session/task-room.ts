import type { RemoteTask, WorkingTask } from "../task/remote-task.ts";
import type { TaskAttendant } from "../task-protocol.ts";
import type { TaskAskings } from "./task-askings.ts";

/** A task that goes on, as its server tells it: its questions come as requests of their own. */
export type OngoingTask = Omit<WorkingTask, "status"> & {
  readonly status: "working" | "input_required";
};

/** What this client keeps of one task of a server: its questions, those who wait, and how it was seen last. */
export class TaskRoom {
  readonly askings: TaskAskings;
  readonly #attendants = new Set<TaskAttendant>();
  #seen: OngoingTask | undefined;

  constructor(askings: TaskAskings) {
    this.askings = askings;
  }

  get isAttended(): boolean {
    return this.#attendants.size > 0;
  }

  get isEmpty(): boolean {
    return !this.isAttended && this.askings.size === 0;
  }

  enter(attendant: TaskAttendant, known: RemoteTask | undefined): void {
    this.#attendants.add(attendant);
    if (known?.status === "working") this.#seen ??= known;
    if (this.askings.size > 0) this.askingsChanged();
  }

  leave(attendant: TaskAttendant): void {
    this.#attendants.delete(attendant);
  }

  /** Takes the state of a task that goes on, and gives it back with the questions that it has. */
  goesOn(seen: OngoingTask): RemoteTask {
    if (this.#seen === undefined || this.#seen.lastUpdatedAt <= seen.lastUpdatedAt) this.#seen = seen;
    if (seen.status !== "input_required") this.askings.dropLost();
    return shown(seen, this.askings);
  }

  /** A question came or went, which the server's own record of the task may not show. */
  askingsChanged(): void {
    if (this.#seen === undefined) this.hint();
    else this.push(shown(this.#seen, this.askings));
  }

  hint(): void {
    for (const attendant of this.#attendants) attendant.onHint();
  }

  push(task: RemoteTask): void {
    for (const attendant of this.#attendants) attendant.onTask(task);
  }
}

/** As it is shown where nobody knows its questions. */
export function withoutQuestions(seen: OngoingTask): RemoteTask {
  return seen.status === "input_required"
    ? { ...seen, status: "input_required", inputRequests: {} }
    : { ...seen, status: "working" };
}

/** With a question there it waits for input, also where its server says so only later. */
function shown(seen: OngoingTask, askings: TaskAskings): RemoteTask {
  if (askings.size === 0 && seen.status === "working") return { ...seen, status: "working" };
  return { ...seen, status: "input_required", inputRequests: askings.open() };
}

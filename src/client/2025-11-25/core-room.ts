import { withRelatedTask } from "../../generation/2025-11-25/related-task.ts";
import { TaskAskings } from "../session/task-askings.ts";
import type { TaskSessions } from "../session/task-sessions.ts";
import { TaskRoom, type OngoingTask } from "../session/task-room.ts";
import type { RemoteTask } from "../task/remote-task.ts";
import type { TaskAttendant } from "../task-protocol.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import type { SeenTask } from "./read-task.ts";
import { ResultVigil } from "./result-vigil.ts";

/** The room of a task that tells its status by itself, and is held by `tasks/result` while it waits for input. */
export class CoreRoom extends TaskRoom {
  readonly #vigil: ResultVigil;

  constructor(taskId: string, requester: RawRequester, sessions: TaskSessions) {
    super(new TaskAskings(taskId, requester, withRelatedTask, () => sessions.of(taskId)));
    this.#vigil = new ResultVigil(taskId, requester, sessions);
  }

  /** The result that came before the end was polled. */
  get result(): ResultVigil["result"] {
    return this.#vigil.result;
  }

  override leave(attendant: TaskAttendant): void {
    super.leave(attendant);
    if (!this.isAttended) this.#vigil.leave();
  }

  override goesOn(seen: OngoingTask): RemoteTask {
    const task = super.goesOn(seen);
    if (seen.status === "input_required" && this.isAttended) this.#vigil.hold(() => this.hint());
    return task;
  }

  /** Takes what the server says of the task by itself. */
  told(seen: SeenTask): void {
    switch (seen.status) {
      case "working":
      case "input_required":
        return this.push(this.goesOn({ ...seen, status: seen.status }));
      case "cancelled":
        return this.push({ ...seen, status: "cancelled" });
      case "completed":
      case "failed": // what with, a poll finds out
        return this.hint();
    }
  }
}

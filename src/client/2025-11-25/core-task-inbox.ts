import { withRelatedTask } from "../../generation/2025-11-25.ts";
import { PendingQuestions } from "../session/pending-questions.ts";
import type { TaskSessions } from "../session/task-sessions.ts";
import { TaskInbox, type ActiveTask } from "../session/task-inbox.ts";
import type { RemoteTask } from "../task/remote-task.ts";
import type { TaskObserver } from "../task-protocol.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import type { ReportedTask } from "./read-task.ts";
import { HeldResult } from "./held-result.ts";

/**
 * The inbox of a task of 2025-11-25: takes status notifications, and holds `tasks/result` open while the task waits
 * for input.
 */
export class CoreTaskInbox extends TaskInbox {
  readonly #heldResult: HeldResult;

  constructor(taskId: string, requester: RawRequester, sessions: TaskSessions) {
    super(new PendingQuestions(taskId, requester, withRelatedTask, () => sessions.of(taskId)));
    this.#heldResult = new HeldResult(taskId, requester, sessions);
  }

  /** A result that arrived before a poll showed the end. */
  get result(): HeldResult["result"] {
    return this.#heldResult.result;
  }

  override removeObserver(observer: TaskObserver): void {
    super.removeObserver(observer);
    if (!this.isObserved) this.#heldResult.cancel();
  }

  override update(reported: ActiveTask): RemoteTask {
    const task = super.update(reported);
    if (reported.status === "input_required" && this.isObserved)
      this.#heldResult.start(() => this.requestPoll());
    return task;
  }

  /** Handles a status notification. */
  onStatus(reported: ReportedTask): void {
    switch (reported.status) {
      case "working":
      case "input_required":
        return this.publish(this.update({ ...reported, status: reported.status }));
      case "cancelled":
        return this.publish({ ...reported, status: "cancelled" });
      case "completed":
      case "failed": // a poll fetches the outcome
        return this.requestPoll();
    }
  }
}

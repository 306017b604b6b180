import type { JsonObject } from "../../generation/message.ts";
import type { TaskSessions } from "../session/task-sessions.ts";
import type { RawRequester } from "../transport/raw-requester.ts";

/**
 * A long poll by `tasks/result`, held open while a task waits for input and a caller waits for the task: the server
 * can send its questions on this stream (C-093). Polling continues (C-052); after a break the next poll starts it
 * again (C-064).
 */
export class HeldResult {
  readonly #taskId: string;
  readonly #requester: RawRequester;
  readonly #sessions: TaskSessions;
  #held: AbortController | undefined;
  #result: JsonObject | undefined;

  constructor(taskId: string, requester: RawRequester, sessions: TaskSessions) {
    this.#taskId = taskId;
    this.#requester = requester;
    this.#sessions = sessions;
  }

  /** The answer. Use it only after a poll has shown that the task ended. */
  get result(): JsonObject | undefined {
    return this.#result;
  }

  /** Sends the request, unless it is open or answered. Calls `onResult` for a result; errors are left to polls. */
  start(onResult: () => void): void {
    if (this.#held !== undefined || this.#result !== undefined) return;
    const held = new AbortController();
    this.#held = held;
    const taskId = this.#taskId;
    const inSession = this.#sessions.of(taskId);
    this.#requester.request("tasks/result", { taskId }, held.signal, inSession).then(
      (reply) => {
        this.#held = undefined;
        if (reply.kind !== "value") return;
        this.#result = reply.value;
        onResult();
      },
      () => {
        if (this.#held === held) this.#held = undefined;
      },
    );
  }

  /** Aborts the request, without effect on the task (C-053). */
  cancel(): void {
    this.#held?.abort(new Error("No caller is waiting for the task"));
    this.#held = undefined;
  }
}

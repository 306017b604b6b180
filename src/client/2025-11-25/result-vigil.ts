import type { JsonObject } from "../../generation/json-object.ts";
import type { TaskSessions } from "../session/task-sessions.ts";
import type { RawRequester } from "../transport/raw-requester.ts";

/**
 * A `tasks/result` that is held open while a task waits for input and somebody waits for the task: on its stream the
 * server can ask (C-093). Polls go on beside it (C-052); one that breaks is sent again after the next (C-064).
 */
export class ResultVigil {
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

  /** What it was answered with; not to be trusted before a poll shows that the task has ended. */
  get result(): JsonObject | undefined {
    return this.#result;
  }

  /** `onResult` is called once there is a result. What else may come is left to polls. */
  hold(onResult: () => void): void {
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

  /** Leaves it: the task does not notice (C-053). */
  leave(): void {
    this.#held?.abort(new Error("Nobody waits for the task any more"));
    this.#held = undefined;
  }
}

import type { JsonObject } from "../../generation/json-object.ts";
import type { RawRequester } from "../transport/raw-requester.ts";

/**
 * A `tasks/result` that is held open while a task waits for input and somebody waits for the task: on its stream the
 * server can ask (C-093). Polls go on beside it (C-052); one that breaks is sent again after the next (C-064).
 */
export class ResultVigil {
  readonly #taskId: string;
  readonly #requester: RawRequester;
  #held: AbortController | undefined;
  #result: JsonObject | undefined;

  constructor(taskId: string, requester: RawRequester) {
    this.#taskId = taskId;
    this.#requester = requester;
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
    this.#requester.request("tasks/result", { taskId: this.#taskId }, held.signal).then(
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

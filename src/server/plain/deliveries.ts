import type { Runtime } from "../../runtime/runtime.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { OnError } from "../answer.ts";
import { isStopping } from "../stopping.ts";
import { isCallKey } from "./owner.ts";

/**
 * Results on their way to those who called. One that arrived gives up its call's key, so that the same call is a new
 * one; until that is durable, the same call has to wait, or it would be answered with what was answered already.
 */
export class Deliveries {
  readonly #runtime: Runtime;
  readonly #onError: OnError;
  readonly #underWay = new Map<string, Promise<unknown>>();

  constructor(runtime: Runtime, onError: OnError) {
    this.#runtime = runtime;
    this.#onError = onError;
  }

  /** The result of `task` is about to go out; to be told whether it arrived. */
  begin(task: TaskRecord): (arrived: boolean) => void {
    if (!isCallKey(task.idempotencyKey)) return () => undefined;
    const known = Promise.withResolvers<boolean>();
    const released = known.promise.then((arrived) => (arrived ? this.release(task) : undefined));
    const all = Promise.all([this.#underWay.get(task.id), released]);
    this.#underWay.set(task.id, all);
    void all.then(() => {
      if (this.#underWay.get(task.id) === all) this.#underWay.delete(task.id);
    });
    return known.resolve;
  }

  /** Resolves when no result of the task is under way any more. */
  async over(id: string): Promise<void> {
    await this.#underWay.get(id);
  }

  /** The next same call is a new one. Never rejects. */
  async release(task: TaskRecord): Promise<void> {
    try {
      await this.#runtime.delivered(task.id, task);
    } catch (error) {
      // The same call finds the result once more, which is better than none.
      if (!isStopping(error)) this.#onError(error);
    }
  }
}

import type { PlainCall } from "./plain-call.ts";
import { callKeyOf } from "./owner.ts";

/** One entry of a call, which may have several. */
interface Waiting {
  readonly call: Pick<PlainCall, "isWaitedFor">;
}

/** Calls of this process whose clients wait for the answer now, by the keys of their tasks. */
export class LiveCalls {
  /** By the key of the call, and then by that of the task: the same call may be several tasks. */
  readonly #calls = new Map<string, Map<string, Set<Waiting>>>();

  /** Returns the way to leave. */
  enter(key: string, call: Waiting["call"]): () => void {
    const entry = { call };
    const same = callKeyOf(key);
    const keys = this.#calls.get(same) ?? new Map<string, Set<Waiting>>();
    const waiting = keys.get(key) ?? new Set();
    this.#calls.set(same, keys.set(key, waiting.add(entry)));
    return () => {
      waiting.delete(entry);
      if (waiting.size === 0 && keys.get(key) === waiting) keys.delete(key);
      if (keys.size === 0 && this.#calls.get(same) === keys) this.#calls.delete(same);
    };
  }

  /** Whether a client waits for the task of that key: one whose connection is gone has given up. */
  isWaitedFor(key: string): boolean {
    const waiting = this.#calls.get(callKeyOf(key))?.get(key) ?? [];
    return [...waiting].some(({ call }) => call.isWaitedFor());
  }

  /** How many tasks the same call is waited for with. */
  tasksOf(key: string): number {
    return this.#calls.get(callKeyOf(key))?.size ?? 0;
  }
}

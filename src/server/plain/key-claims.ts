import type { Runtime } from "../../runtime/runtime.ts";
import { furtherKey } from "./call-keys.ts";
import type { Deliveries } from "./delivery.ts";
import type { PlainCall } from "./plain-call.ts";

export interface ClaimedKey {
  readonly key: string;
  /** The task that has the key; undefined if the key is free. */
  readonly task: string | undefined;
  readonly release: () => void;
}

/** How many tasks of the same call are read at first. More of them run at a time only under unusual load. */
const firstPage = 8;

/**
 * Chooses the task that a call joins, where it must not join one that another call waits for. A claim holds the chosen key
 * from then until the call waits for its task.
 */
export class KeyClaims {
  readonly #runtime: Runtime;
  readonly #deliveries: Pick<Deliveries, "isAwaited" | "hasLeft">;
  readonly #claims = new Map<string, Set<PlainCall>>();

  constructor(runtime: Runtime, deliveries: Pick<Deliveries, "isAwaited" | "hasLeft">) {
    this.#runtime = runtime;
    this.#deliveries = deliveries;
  }

  /**
   * Claims the key of a task that nobody waits for: its caller gave up, or the server was restarted. If there is none,
   * claims a free key. `tried` are the ids of tasks that the call cannot join.
   */
  async claim(sameCall: string, call: PlainCall, tried: ReadonlySet<string>): Promise<ClaimedKey> {
    const { principal } = call.owner;
    let mayLeave = true;
    for (let limit = firstPage; ;) {
      const keyed = await this.#runtime.withKeys(principal, sameCall, limit);
      const free = keyed.find(
        ({ id, key }) =>
          !tried.has(id) && !this.#deliveries.isAwaited(id) && !this.#isClaimed(principal, key),
      );
      if (free === undefined && keyed.length === limit) {
        limit *= 2;
        continue;
      }
      if (free === undefined && mayLeave) {
        mayLeave = false; // waits once
        const ids = keyed.map(({ id }) => id).filter((id) => !tried.has(id));
        if (await this.#deliveries.hasLeft(ids, call)) continue;
      }
      const isNew = keyed.every(({ key }) => key !== sameCall) && !this.#isClaimed(principal, sameCall);
      const key = free?.key ?? (isNew ? sameCall : furtherKey(sameCall, this.#runtime.clock.uniqueName()));
      return { key, task: free?.id, release: this.#enter(principal, key, call) };
    }
  }

  /** A call whose connection broke holds no claim: it is the one that the next call should join. */
  #isClaimed(principal: string | null, key: string): boolean {
    const calls = this.#claims.get(claimOf(principal, key)) ?? [];
    return [...calls].some((call) => call.isWaitedFor());
  }

  #enter(principal: string | null, key: string, call: PlainCall): () => void {
    const claim = claimOf(principal, key);
    const calls = this.#claims.get(claim) ?? new Set();
    this.#claims.set(claim, calls.add(call));
    return () => {
      calls.delete(call);
      if (calls.size === 0 && this.#claims.get(claim) === calls) this.#claims.delete(claim);
    };
  }
}

function claimOf(principal: string | null, key: string): string {
  return JSON.stringify([principal, key]);
}

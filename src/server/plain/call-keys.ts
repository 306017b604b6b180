import { requestHash } from "../../runtime/request-hash.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { PlainCall, PlainOwner } from "./plain-call.ts";

const prefix = "holdfast/plain:";

/** The idempotency key that joins the same call of the same caller; undefined if nothing is known of the caller. */
export function callKey(owner: PlainOwner, tool: string, args: unknown): string | undefined {
  const { principal, session = "" } = owner;
  if (principal === null && session === "") return undefined;
  // The store keeps the keys of principals apart. Callers without a principal are told apart by their sessions.
  return `${prefix}${principal === null ? session : ""}:${requestHash(tool, args ?? {})}`;
}

/** The key of a further task of the same call. No key of a call contains the separator. */
export function furtherKey(key: string, name: string): string {
  return `${key}#${name}`;
}

/** Whether the server made the key, and not the caller. */
export function isCallKey(key: string | null): key is string {
  return key?.startsWith(prefix) === true;
}

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
  readonly #isAwaited: (task: string) => boolean;
  readonly #claims = new Map<string, Set<PlainCall>>();

  constructor(runtime: Runtime, isAwaited: (task: string) => boolean) {
    this.#runtime = runtime;
    this.#isAwaited = isAwaited;
  }

  /**
   * Claims the key of a task that nobody waits for: its caller gave up, or the server was restarted. If there is none,
   * claims a free key. `tried` are the ids of tasks that the call cannot join.
   */
  async claim(sameCall: string, call: PlainCall, tried: ReadonlySet<string>): Promise<ClaimedKey> {
    const { principal } = call.owner;
    for (let limit = firstPage; ; limit *= 2) {
      const keyed = await this.#runtime.withKeys(principal, sameCall, limit);
      const free = keyed.find(
        ({ id, key }) => !tried.has(id) && !this.#isAwaited(id) && !this.#isClaimed(principal, key),
      );
      if (free === undefined && keyed.length === limit) continue;
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

import type { Runtime } from "../../runtime/runtime.ts";
import type { TaskRecord } from "../../task/record.ts";
import { furtherKey } from "./call-keys.ts";
import type { Deliveries } from "./delivery.ts";
import type { PlainCall } from "./plain-call.ts";

export interface ClaimedKey {
  readonly key: string;
  /** The task that has the key; undefined if the key is free. */
  readonly task: string | undefined;
  readonly release: () => void;
}

/** Tasks of the same call that a call could not join. */
export class Tried {
  /** For good. */
  readonly gone = new Set<string>();
  /** Since callers in other processes wait for them, as they were then. */
  readonly awaited = new Map<string, TaskRecord>();
  /** Whether it has waited for news that other callers left. */
  hasWaited = false;
}

/** How many tasks of the same call are read at first. More of them run at a time only under unusual load. */
const firstPage = 8;

/** How much later than the next call of its client the news that a call was given up may come, in ms. */
const overtakenMs = 1_000;

/**
 * Chooses the task that a call joins if it must not join one that another call waits for. A claim holds the chosen key from then until the
 * call waits for its task. Callers in other processes become known when the task is joined.
 */
export class KeyClaims {
  readonly #runtime: Runtime;
  readonly #deliveries: Pick<Deliveries, "isAwaited" | "callersOf" | "onLeave">;
  readonly #claims = new Map<string, Set<PlainCall>>();

  constructor(runtime: Runtime, deliveries: Pick<Deliveries, "isAwaited" | "callersOf" | "onLeave">) {
    this.#runtime = runtime;
    this.#deliveries = deliveries;
  }

  /** Claims the key of a task that no caller waits for: its caller gave up, or its process is gone. If there is none, claims a free key. */
  async claim(sameCall: string, call: PlainCall, tried: Tried): Promise<ClaimedKey> {
    const { principal } = call.owner;
    for (let limit = firstPage; ;) {
      const keyed = await this.#runtime.withKeys(principal, sameCall, limit);
      const free = keyed.find(
        ({ id, key }) =>
          !tried.gone.has(id) &&
          !tried.awaited.has(id) &&
          !this.#deliveries.isAwaited(id) &&
          !this.#isClaimed(principal, key),
      );
      if (free === undefined && keyed.length === limit) {
        limit *= 2;
        continue;
      }
      if (free === undefined && !tried.hasWaited) {
        tried.hasWaited = true;
        const ids = keyed.map(({ id }) => id).filter((id) => !tried.gone.has(id));
        if (await this.#hasLeft(ids, call, tried)) continue;
      }
      const isNew = keyed.every(({ key }) => key !== sameCall) && !this.#isClaimed(principal, sameCall);
      const key = free?.key ?? (isNew ? sameCall : furtherKey(sameCall, this.#runtime.clock.uniqueName()));
      return { key, task: free?.id, release: this.#enter(principal, key, call) };
    }
  }

  /**
   * A client that times out may cancel its call and repeat it in the same moment, each on its own connection. So if calls of its session,
   * or calls in other processes, have waited for these tasks for some time, the news that one has left may not have arrived: resolves with
   * whether it came.
   */
  async #hasLeft(ids: readonly string[], { owner }: PlainCall, { awaited }: Tried): Promise<boolean> {
    const { clock } = this.#runtime;
    const before = clock.now() - overtakenMs;
    const here = ids.filter((id) =>
      [...this.#deliveries.callersOf(id)].some(
        ([call, since]) => call.owner.session === owner.session && since <= before,
      ),
    );
    const elsewhere = [...awaited.values()].filter(({ createdAt }) => createdAt <= before);
    if (here.length === 0 && elsewhere.length === 0) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const look = async (task: TaskRecord): Promise<void> => {
      if (!(await this.#isLeft(task))) return;
      awaited.delete(task.id);
      resolve(true);
    };
    const ends = [
      clock.after(overtakenMs, () => resolve(false)),
      this.#deliveries.onLeave(here, () => resolve(true)),
      ...elsewhere.map((task) => this.#runtime.watch([task.id], () => void look(task))),
    ];
    for (const task of elsewhere) void look(task); // it may have changed before it was watched
    try {
      return await promise;
    } finally {
      for (const end of ends) end();
    }
  }

  /** Whether callers in a process that waited for the task no longer do; true if the task cannot be read, which the next read reports. */
  async #isLeft(task: TaskRecord): Promise<boolean> {
    try {
      const now = await this.#runtime.get(task.id, task);
      return task.awaitedBy.some((owner) => !now.task.awaitedBy.includes(owner));
    } catch {
      return true;
    }
  }

  /** A call whose connection broke holds no claim: the next call should join it. */
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

import type { Runtime } from "../../runtime/runtime.ts";
import { waitFor } from "../../runtime/wait-for.ts";
import { isUnknownTask } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import { isStopping, type OnError } from "../faults.ts";
import { isCallKey } from "../../runtime/call-keys.ts";
import type { Deliveries } from "./delivery.ts";

/** How a call wants to join a task. */
export interface JoinTerms {
  /** The idempotency key that the task must have. */
  readonly key: string;
  /** Whether no other call may wait for it. */
  readonly alone: boolean;
  /** Aborts when the caller leaves. */
  readonly signal: AbortSignal;
}

/** What became of that; `awaited` in another process, `gone`: it was delivered, cancelled or deleted. */
export type Joined =
  | { readonly kind: "joined"; readonly task: TaskRecord; readonly release: () => void }
  | { readonly kind: "awaited"; readonly task: TaskRecord }
  | { readonly kind: "gone" };

/** Lets calls wait for tasks of other calls, and tells other processes about it. */
export class Joins {
  readonly #runtime: Runtime;
  readonly #deliveries: Deliveries;
  readonly #onError: OnError;

  constructor(runtime: Runtime, deliveries: Deliveries, onError: OnError) {
    this.#runtime = runtime;
    this.#deliveries = deliveries;
    this.#onError = onError;
  }

  /** An answer that is on its way to another caller is waited for: the task may be free then, or gone. `release` as in `Opened`. */
  async join(found: TaskRecord, { key, alone, signal }: JoinTerms): Promise<Joined> {
    const { id } = found;
    let changed = false;
    let wake = (): void => undefined;
    const unwatch = this.#runtime.watch([id], () => {
      changed = true;
      wake();
    });
    try {
      for (;;) {
        await this.#deliveries.settled(id);
        changed = false;
        const joined = await this.#tryToJoin(found, { key, alone });
        if (joined.kind !== "awaited" || joined.task.finishedAt === null) return joined;
        await waitFor((done) => {
          wake = done;
          if (changed) done();
          return () => undefined;
        }, signal);
      }
    } catch (error) {
      if (isUnknownTask(error)) return { kind: "gone" };
      throw error;
    } finally {
      unwatch();
    }
  }

  /** The caller knows the task other than by making the same call. If the store cannot record its wait, it still gets the result. */
  async enter(task: TaskRecord): Promise<void> {
    if (!isCallKey(task.idempotencyKey) || task.finishedAt !== null) return;
    try {
      await this.#runtime.join(task.id, task, { alone: false });
    } catch (error) {
      if (!isUnknownTask(error) && !isStopping(error)) this.#onError(error);
    }
  }

  async #tryToJoin(found: TaskRecord, terms: Pick<JoinTerms, "key" | "alone">): Promise<Joined> {
    const release = this.#deliveries.arrive(found);
    // Others know already that calls wait here.
    if (!terms.alone && found.finishedAt === null && this.#deliveries.isKnown(found.id)) {
      return { kind: "joined", task: found, release };
    }
    let isJoined = false;
    try {
      const task = await this.#runtime.join(found.id, found, terms);
      if (task === "released") return { kind: "gone" };
      if (task === "awaited")
        return { kind: "awaited", task: (await this.#runtime.get(found.id, found)).task };
      if (task.state === "cancelled") {
        await this.#deliveries.release(task); // there is no result
        return { kind: "gone" };
      }
      isJoined = true;
      return { kind: "joined", task, release };
    } finally {
      if (!isJoined) release();
    }
  }
}

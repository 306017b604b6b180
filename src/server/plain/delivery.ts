import type { Leaving, Runtime } from "../../runtime/runtime.ts";
import { isStopping, isUnknownTask } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { OnError } from "../faults.ts";
import { isCallKey } from "../../runtime/call-keys.ts";
import type { Departure, PlainCall } from "./plain-policies.ts";
import { Changes } from "../../runtime/wait-for.ts";

/** How long a result is kept that only the same call can find, in ms, so that a caller whose connection broke can retry. */
export const retryMs = 600_000;

/** A call that waits for a task. */
export interface Waiting {
  /** The caller has, or now gets, a ticket, and stops waiting if it `leaves`. Resolves when that is stored. */
  promise(how: { readonly leaves: boolean }): Promise<void>;
  /** An answer with the result goes out. The caller of `send` reports whether it arrived. */
  send(): (arrived: boolean) => void;
  /** The caller leaves. If no other caller wants the result, this resolves when the task is cancelled, or scheduled to be. */
  depart(how: Departure): Promise<void>;
  /** The call waits no longer. Idempotent. */
  leave(): void;
}

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

/** A task that calls wait for in this process, or whose result is being delivered from here. */
interface Delivery {
  task: TaskRecord;
  /** With the time since when each waits, by the time elapsed. */
  readonly callers: Map<PlainCall, number>;
  /** How many calls are about to wait. */
  arriving: number;
  /** Called whenever one of them leaves. */
  readonly listeners: Set<() => void>;
  /** Answers on their way, or the cancellation. */
  readonly work: Set<Promise<void>>;
  /** How many answers are on their way. */
  sending: number;
  /** Whether other processes know that a caller waits here. */
  isKnown: boolean;
  /** Whether it is being cancelled, as all callers have left. */
  isAbandoned: boolean;
}

/** The deliveries of this process, by the ids of the tasks. What other processes must know of them is stored with the tasks. */
export class Deliveries {
  readonly #runtime: Runtime;
  readonly #graceMs: number;
  readonly #onError: OnError;
  readonly #deliveries = new Map<string, Delivery>();

  /** `graceMs`: how long a task continues whose caller timed out. */
  constructor(runtime: Runtime, graceMs: number, onError: OnError) {
    this.#runtime = runtime;
    this.#graceMs = graceMs;
    this.#onError = onError;
  }

  /**
   * A call is about to join the task, which must not be cancelled meanwhile. Call the returned function once, when the call waits, or does
   * not.
   */
  arrive(task: TaskRecord): () => void {
    const delivery = this.#of(task);
    delivery.arriving += 1;
    return () => {
      delivery.arriving -= 1;
      this.#update(delivery);
    };
  }

  /** The task is one that was created for a call here, or joined. */
  wait(task: TaskRecord, call: PlainCall): Waiting {
    const delivery = this.#of(task);
    delivery.isKnown = isKeyed(task);
    delivery.callers.set(call, this.#runtime.clock.elapsed());
    const unlisten = call.onBroken?.(() => this.#update(delivery));
    const depart = (): void => {
      unlisten?.();
      if (!delivery.callers.delete(call)) return;
      for (const listener of delivery.listeners) listener();
    };
    return {
      promise: ({ leaves }) => {
        if (leaves) depart();
        return this.#leave(delivery, { promised: true });
      },
      send: () => this.#send(delivery),
      depart: async (how) => {
        depart();
        await this.#departed(delivery, how);
      },
      leave: () => {
        depart();
        this.#update(delivery);
      },
    };
  }

  /** The caller of a call that waited in another process, or a dead one, leaves. */
  async leave(task: TaskRecord, how: Departure): Promise<void> {
    await this.#departed(this.#of(task), how);
  }

  /** Whether a client waits here for the task now: not if its connection broke. */
  isAwaited(id: string): boolean {
    const delivery = this.#deliveries.get(id);
    return delivery !== undefined && isAwaited(delivery);
  }

  /** The calls that wait here for the task, and since when, by the time elapsed. */
  callersOf(id: string): ReadonlyMap<PlainCall, number> {
    return this.#deliveries.get(id)?.callers ?? new Map<PlainCall, number>();
  }

  /** Calls `listener` whenever one of the calls that wait here for one of the tasks leaves; returns the way to stop it. */
  onLeave(ids: readonly string[], listener: () => void): () => void {
    const watched = ids.flatMap((id) => this.#deliveries.get(id)?.listeners ?? []);
    for (const listeners of watched) listeners.add(listener);
    return () => {
      for (const listeners of watched) listeners.delete(listener);
    };
  }

  isAbandoned(id: string): boolean {
    return this.#deliveries.get(id)?.isAbandoned === true;
  }

  /** Resolves when each answer that is on its way from here has arrived or is lost, and a cancellation has ended. */
  async settled(id: string): Promise<void> {
    const delivery = this.#deliveries.get(id);
    if (delivery !== undefined) await Promise.all(delivery.work);
  }

  /** Cancels the task, so that the same call begins anew; false if the task has ended before. */
  async cancel(task: TaskRecord): Promise<boolean> {
    const now = await this.#runtime.cancelNow(task.id, task);
    if (now.cancelled) await this.release(now.task);
    return now.cancelled;
  }

  /**
   * Removes an ended task's key, so that the same call starts a new task. Unless a caller has a ticket for it, it is then kept
   * for `retryMs` only, because callers with many calls would fill their quota. Never rejects.
   */
  async release(task: TaskRecord): Promise<void> {
    try {
      await this.#runtime.delivered(task.id, task, this.#runtime.clock.now() + retryMs);
    } catch (error) {
      // The same call then gets this result again, which is better than none.
      if (!isStopping(error)) this.#onError(error);
    }
  }

  /** An answer that is on its way to another caller is waited for: the task may be free then, or gone. `release` as in `Opened`. */
  async join(found: TaskRecord, { key, alone, signal }: JoinTerms): Promise<Joined> {
    const { id } = found;
    const changes = new Changes();
    const unwatch = this.#runtime.watch([id], changes.changed);
    try {
      for (;;) {
        await this.settled(id);
        changes.forget();
        const joined = await this.#tryToJoin(found, { key, alone });
        if (joined.kind !== "awaited" || joined.task.finishedAt === null) return joined;
        await changes.next(signal);
      }
    } catch (error) {
      if (isUnknownTask(error)) return { kind: "gone" };
      throw error;
    } finally {
      unwatch();
    }
  }

  /** The caller knows the task other than by making the same call. If the store cannot record its wait, it still gets the result. */
  async enter(task: TaskRecord, call: PlainCall): Promise<Waiting> {
    const release = this.arrive(task);
    try {
      if (isKeyed(task) && task.finishedAt === null)
        await this.#runtime.join(task.id, task, { alone: false });
    } catch (error) {
      if (!isUnknownTask(error) && !isStopping(error)) this.#onError(error);
    }
    const waiting = this.wait(task, call);
    release();
    return waiting;
  }

  async #tryToJoin(found: TaskRecord, terms: Pick<JoinTerms, "key" | "alone">): Promise<Joined> {
    const release = this.arrive(found);
    // Others know already that calls wait here.
    if (!terms.alone && found.finishedAt === null && this.#deliveries.get(found.id)?.isKnown === true) {
      return { kind: "joined", task: found, release };
    }
    let isJoined = false;
    try {
      const task = await this.#runtime.join(found.id, found, terms);
      if (task === "released") return { kind: "gone" };
      if (task === "awaited")
        return { kind: "awaited", task: (await this.#runtime.get(found.id, found)).task };
      if (task.state === "cancelled") {
        await this.release(task); // there is no result
        return { kind: "gone" };
      }
      isJoined = true;
      return { kind: "joined", task, release };
    } finally {
      if (!isJoined) release();
    }
  }

  #of(task: TaskRecord): Delivery {
    const delivery = this.#deliveries.get(task.id) ?? {
      task,
      callers: new Map(),
      arriving: 0,
      listeners: new Set(),
      work: new Set(),
      sending: 0,
      isKnown: false,
      isAbandoned: false,
    };
    this.#deliveries.set(task.id, delivery);
    return delivery;
  }

  #send(delivery: Delivery): (arrived: boolean) => void {
    const { task } = delivery;
    // A key that the caller chose finds the result as often as the caller asks.
    if (task.idempotencyKey !== null && !isCallKey(task.idempotencyKey)) return () => undefined;
    const answer = Promise.withResolvers<boolean>();
    delivery.sending += 1;
    void this.#work(delivery, async () => {
      const arrived = await answer.promise;
      delivery.sending -= 1;
      if (!arrived) return;
      delivery.isKnown = false; // to give up the key says so
      await this.release(task);
    });
    return answer.resolve;
  }

  async #departed(delivery: Delivery, how: Departure): Promise<void> {
    const { task } = delivery;
    const isLast = delivery.callers.size === 0 && delivery.arriving === 0;
    if (!isLast || delivery.sending > 0 || delivery.isAbandoned) return this.#update(delivery);
    // Nobody could come back to a task that the same call does not find.
    if (how === "timed_out" && this.#graceMs > 0 && isCallKey(task.idempotencyKey)) {
      return this.#leave(delivery, { cancelBy: this.#runtime.clock.now() + this.#graceMs });
    }
    delivery.isAbandoned = true;
    await this.#work(delivery, async () => {
      const isCancelled = await this.#abandon(task);
      delivery.isAbandoned = false;
      if (isCancelled) delivery.isKnown = false;
    });
  }

  /** Whether the task was cancelled. Never rejects. */
  async #abandon(task: TaskRecord): Promise<boolean> {
    try {
      const now = await this.#runtime.cancelUnlessWanted(task.id, task);
      if (now?.cancelled !== true) return false;
      await this.release(now.task);
      return true;
    } catch (error) {
      if (!isUnknownTask(error) && !isStopping(error)) this.#onError(error);
      return false;
    }
  }

  /** Does work that never rejects. */
  async #work(delivery: Delivery, run: () => Promise<void>): Promise<void> {
    const work = run().then(() => {
      delivery.work.delete(work);
      this.#update(delivery);
    });
    delivery.work.add(work);
    await work;
  }

  /** Tells other processes when no caller waits here any more. */
  #update(delivery: Delivery): void {
    const { task, callers, arriving, work, isKnown } = delivery;
    if (work.size > 0 || arriving > 0) return;
    if (callers.size === 0 && this.#deliveries.get(task.id) === delivery) this.#deliveries.delete(task.id);
    if (isKnown && !isAwaited(delivery)) void this.#leave(delivery, {});
  }

  /** Never rejects. */
  async #leave(delivery: Delivery, how: Partial<Leaving>): Promise<void> {
    const { task, isKnown } = delivery;
    const stays = isAwaited(delivery) || delivery.sending > 0 || delivery.arriving > 0;
    delivery.isKnown = stays && isKeyed(task);
    const isTold = (how.promised !== true || task.promised) && how.cancelBy === undefined;
    if (isTold && delivery.isKnown === isKnown) return; // there is nothing that others do not know
    try {
      await this.#runtime.leave(task.id, task, {
        stays: delivery.isKnown,
        promised: false,
        cancelBy: null,
        ...how,
      });
    } catch (error) {
      if (!isUnknownTask(error) && !isStopping(error)) this.#onError(error);
    }
    this.#update(delivery);
  }
}

/** Whether the same call finds the task in any process. */
function isKeyed({ idempotencyKey }: TaskRecord): boolean {
  return isCallKey(idempotencyKey);
}

function isAwaited({ callers }: Delivery): boolean {
  return [...callers.keys()].some((call) => call.isWaitedFor());
}

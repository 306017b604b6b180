import type { Runtime } from "../../runtime/runtime.ts";
import { HoldfastError, isUnknownTask } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import { isStopping, type OnError } from "../faults.ts";
import { isCallKey } from "./call-keys.ts";
import { nextState, type DeliveryEvent, type DeliveryState } from "./delivery-state.ts";
import type { PlainCall } from "./plain-call.ts";

/** Whether somebody who does not wait may come back for a task; `unknown` for a task that the call found. */
export type MayComeBack = "yes" | "no" | "unknown";

/** How much later than the next call of its client the news that a call was given up may come, in ms. */
const overtakenMs = 1_000;

/** How long a result is kept that only the same call can find, in ms, so that a caller whose connection broke can retry. */
export const retryMs = 600_000;

/** A call that waits for a task. */
export interface Waiting {
  /** The caller was told how to come back. */
  keep(): void;
  /** An answer with the result goes out. The caller of `send` reports whether it arrived. */
  send(): (arrived: boolean) => void;
  /** The caller leaves and wants no result. If nobody else wants it, this resolves when the task is cancelled. */
  callOff(): Promise<void>;
  /**
   * The caller leaves since its time is over. If nobody else wants the result and the same call finds the task, it goes on
   * for the grace, and this resolves when that is stored; else it is as `callOff`.
   */
  timeOut(): Promise<void>;
  /** To be called with the task whenever it changes: one that somebody waits for is not to be cancelled. */
  changed(task: TaskRecord): void;
  /** The call waits no longer. Idempotent. */
  leave(): void;
}

interface Delivery {
  state: DeliveryState;
  /** Whether a caller may know another way to the result than the same call. */
  isKnown: boolean;
  /** With the time since when each waits (epoch ms). */
  readonly callers: Map<PlainCall, number>;
  /** Called whenever one of them leaves. */
  readonly listeners: Set<() => void>;
  /** Answers on their way, or the cancellation. */
  readonly work: Set<Promise<void>>;
}

/** The deliveries of the tasks that a call waits for or whose result is on its way, by the ids of the tasks. */
export class Deliveries {
  readonly #runtime: Runtime;
  readonly #graceMs: number;
  readonly #onError: OnError;
  readonly #deliveries = new Map<string, Delivery>();

  /** `graceMs`: how long a task goes on whose caller's time was over. */
  constructor(runtime: Runtime, graceMs: number, onError: OnError) {
    this.#runtime = runtime;
    this.#graceMs = graceMs;
    this.#onError = onError;
  }

  wait(task: TaskRecord, call: PlainCall, mayComeBack: MayComeBack): Waiting {
    const { id } = task;
    const delivery = this.#deliveries.get(id) ?? {
      state: mayComeBack === "no" ? "awaited" : "kept",
      isKnown: mayComeBack !== "no",
      callers: new Map(),
      listeners: new Set(),
      work: new Set(),
    };
    this.#deliveries.set(id, delivery);
    delivery.callers.set(call, this.#runtime.clock.now());
    const keep = (): void => {
      delivery.isKnown = true;
      move(delivery, "keep");
    };
    // "unknown" changes no delivery that this process has followed from the start.
    if (mayComeBack === "yes") keep();
    const depart = (): void => {
      if (!delivery.callers.delete(call)) return;
      for (const listener of delivery.listeners) listener();
    };
    const leave = (): void => {
      depart();
      this.#forgetIfIdle(id, delivery);
    };
    const callOff = async (): Promise<void> => {
      depart();
      const isAbandoned = delivery.callers.size === 0 && move(delivery, "call_off");
      if (isAbandoned) await this.#work(id, delivery, () => this.#abandon(task));
      else leave();
    };
    return {
      keep,
      send: () => this.#send(task, delivery),
      callOff,
      timeOut: async () => {
        if (this.#graceMs === 0 || !isCallKey(task.idempotencyKey)) return callOff();
        depart();
        const isLast = delivery.callers.size === 0 && delivery.state === "awaited";
        if (isLast) await this.#schedule(task, this.#runtime.clock.now() + this.#graceMs);
        return leave();
      },
      changed: ({ cancelBy }) => {
        if (cancelBy !== null) void this.#schedule(task, null);
      },
      leave,
    };
  }

  /** Whether a client waits for the task now: not if its connection broke. */
  isAwaited(id: string): boolean {
    const callers = this.#deliveries.get(id)?.callers.keys() ?? [];
    return [...callers].some((call) => call.isWaitedFor());
  }

  /**
   * A client whose time is over cancels its call and may make it again in the same moment, each on a connection of its own. So
   * if calls of its session have waited for these tasks for some time, the news that one has left may still be under way:
   * resolves with whether it came.
   */
  async hasLeft(ids: readonly string[], { owner }: PlainCall): Promise<boolean> {
    const { clock } = this.#runtime;
    const before = clock.now() - overtakenMs;
    const waitedFor = ids.flatMap((id) => {
      const delivery = this.#deliveries.get(id);
      const callers = [...(delivery?.callers ?? [])];
      const isLong = callers.some(([call, since]) => call.owner.session === owner.session && since <= before);
      return delivery !== undefined && isLong ? [delivery] : [];
    });
    if (waitedFor.length === 0) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const listener = (): void => resolve(true);
    const callOff = clock.after(overtakenMs, () => resolve(false));
    for (const { listeners } of waitedFor) listeners.add(listener);
    try {
      return await promise;
    } finally {
      callOff();
      for (const { listeners } of waitedFor) listeners.delete(listener);
    }
  }

  isAbandoned(id: string): boolean {
    return this.#deliveries.get(id)?.state === "abandoned";
  }

  /** Resolves when each answer that is on its way has arrived or is lost, and a cancellation has ended. */
  async settled(id: string): Promise<void> {
    const delivery = this.#deliveries.get(id);
    if (delivery !== undefined) await Promise.all(delivery.work);
  }

  /** Cancels the task, so that the same call begins anew; false if the task has ended before. `isKnown` as in `release`. */
  async cancel(task: TaskRecord, isKnown = true): Promise<boolean> {
    try {
      const snapshot = await this.#runtime.cancelNow(task.id, task);
      await this.release(snapshot.task, isKnown);
      return true;
    } catch (error) {
      if (error instanceof HoldfastError && error.code === "finished") return false;
      throw error;
    }
  }

  /**
   * Makes an ended task give up its key, so that the same call begins anew. Unless it `isKnown` to somebody who may ask for it
   * by other means, it is then kept for `retryMs` only, or callers with many calls would fill their quota. Never rejects.
   */
  async release(task: TaskRecord, isKnown = true): Promise<void> {
    try {
      const deleteBy = isKnown ? undefined : this.#runtime.clock.now() + retryMs;
      await this.#runtime.delivered(task.id, task, deleteBy);
    } catch (error) {
      // The same call then gets this result again, which is better than none.
      if (!isStopping(error)) this.#onError(error);
    }
  }

  /** Never rejects. */
  async #schedule(task: TaskRecord, cancelBy: number | null): Promise<void> {
    try {
      await this.#runtime.scheduleCancel(task.id, task, cancelBy);
    } catch (error) {
      if (!isUnknownTask(error) && !isStopping(error)) this.#onError(error);
    }
  }

  #send(task: TaskRecord, delivery: Delivery): (arrived: boolean) => void {
    // A key that the caller chose finds the result as often as the caller asks.
    if (task.idempotencyKey !== null && !isCallKey(task.idempotencyKey)) return () => undefined;
    move(delivery, "send");
    const answer = Promise.withResolvers<boolean>();
    void this.#work(task.id, delivery, async () => {
      if (!(await answer.promise)) return "lose";
      await this.release(task, delivery.isKnown);
      return "arrive";
    });
    return answer.resolve;
  }

  async #abandon(task: TaskRecord): Promise<DeliveryEvent> {
    try {
      await this.cancel(task, false);
    } catch (error) {
      if (!isUnknownTask(error) && !isStopping(error)) this.#onError(error);
    }
    return "end_cancel";
  }

  /** Does work that never rejects and ends with an event. */
  async #work(id: string, delivery: Delivery, run: () => Promise<DeliveryEvent>): Promise<void> {
    const work = run().then((event) => {
      delivery.work.delete(work);
      if (event !== "lose" || delivery.work.size === 0) move(delivery, event);
      this.#forgetIfIdle(id, delivery);
    });
    delivery.work.add(work);
    await work;
  }

  #forgetIfIdle(id: string, delivery: Delivery): void {
    const isIdle = delivery.callers.size === 0 && delivery.work.size === 0;
    if (isIdle && this.#deliveries.get(id) === delivery) this.#deliveries.delete(id);
  }
}

/** Whether the event changes the state. */
function move(delivery: Delivery, event: DeliveryEvent): boolean {
  const before = delivery.state;
  delivery.state = nextState(before, event);
  return delivery.state !== before;
}

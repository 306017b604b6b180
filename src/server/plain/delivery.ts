import type { Runtime } from "../../runtime/runtime.ts";
import { HoldfastError, isUnknownTask } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import { isStopping, type OnError } from "../faults.ts";
import { isCallKey } from "./call-keys.ts";
import type { PlainCall } from "./plain-call.ts";

/**
 * Where the result of a task is on its way to the callers that wait for it in this process.
 *
 * | state       | when the last caller calls off | a new call that is the same      |
 * | ----------- | ------------------------------ | -------------------------------- |
 * | `awaited`   | the task is cancelled          | joins                            |
 * | `kept`      | the task goes on               | joins                            |
 * | `sending`   | nothing: the task has ended    | waits, then joins or begins anew |
 * | `delivered` | nothing: the task has ended    | begins anew                      |
 * | `abandoned` | nothing: it is being cancelled | waits, then begins anew          |
 *
 * `kept` means that somebody may come back for the result: with a ticket, with an idempotency key, or because the answer
 * was lost.
 */
export type DeliveryState = "awaited" | "kept" | "sending" | "delivered" | "abandoned";

/**
 * `keep`: a caller was told how to come back. `call_off`: the last caller left and wants no result. `end_cancel`: the
 * cancellation succeeded or failed. `send`: an answer with the result goes out. `arrive`: it arrived, and the task has
 * given up its key. `lose`: no answer arrived, and no other is on its way.
 */
export type DeliveryEvent = "keep" | "call_off" | "end_cancel" | "send" | "arrive" | "lose";

/** Events that are not listed change nothing. */
const transitions: Readonly<Record<DeliveryState, Partial<Record<DeliveryEvent, DeliveryState>>>> = {
  awaited: { keep: "kept", call_off: "abandoned", send: "sending" },
  kept: { send: "sending" },
  sending: { arrive: "delivered", lose: "kept" },
  delivered: {},
  abandoned: { end_cancel: "kept" },
};

export function nextState(state: DeliveryState, event: DeliveryEvent): DeliveryState {
  return transitions[state][event] ?? state;
}

/** Whether somebody who does not wait may come back for a task; `unknown` for a task that the call found. */
export type MayComeBack = "yes" | "no" | "unknown";

/** A call that waits for a task. */
export interface Waiting {
  /** The caller was told how to come back. */
  keep(): void;
  /** An answer with the result goes out. The caller of `send` reports whether it arrived. */
  send(): (arrived: boolean) => void;
  /** The caller leaves and wants no result. If nobody else wants it, this resolves when the task is cancelled. */
  callOff(): Promise<void>;
  /** The call waits no longer. Idempotent. */
  leave(): void;
}

interface Delivery {
  state: DeliveryState;
  readonly callers: Set<PlainCall>;
  /** Answers on their way, or the cancellation. */
  readonly work: Set<Promise<void>>;
}

/** The deliveries of the tasks that a call waits for or whose result is on its way, by the ids of the tasks. */
export class Deliveries {
  readonly #runtime: Runtime;
  readonly #onError: OnError;
  readonly #deliveries = new Map<string, Delivery>();

  constructor(runtime: Runtime, onError: OnError) {
    this.#runtime = runtime;
    this.#onError = onError;
  }

  wait(task: TaskRecord, call: PlainCall, mayComeBack: MayComeBack): Waiting {
    const { id } = task;
    const delivery = this.#deliveries.get(id) ?? {
      state: mayComeBack === "no" ? "awaited" : "kept",
      callers: new Set(),
      work: new Set(),
    };
    this.#deliveries.set(id, delivery);
    delivery.callers.add(call);
    // "unknown" changes no delivery that this process has followed from the start.
    if (mayComeBack === "yes") move(delivery, "keep");
    const leave = (): void => {
      delivery.callers.delete(call);
      this.#forgetIfIdle(id, delivery);
    };
    return {
      keep: () => void move(delivery, "keep"),
      send: () => this.#send(task, delivery),
      callOff: async () => {
        delivery.callers.delete(call);
        const isAbandoned = delivery.callers.size === 0 && move(delivery, "call_off");
        if (isAbandoned) await this.#work(id, delivery, () => this.#abandon(task));
        else leave();
      },
      leave,
    };
  }

  /** Whether a client waits for the task now: not if its connection broke. */
  isAwaited(id: string): boolean {
    const callers = this.#deliveries.get(id)?.callers ?? [];
    return [...callers].some((call) => call.isWaitedFor());
  }

  isAbandoned(id: string): boolean {
    return this.#deliveries.get(id)?.state === "abandoned";
  }

  /** Resolves when each answer that is on its way has arrived or is lost, and a cancellation has ended. */
  async settled(id: string): Promise<void> {
    const delivery = this.#deliveries.get(id);
    if (delivery !== undefined) await Promise.all(delivery.work);
  }

  /** Cancels the task, so that the same call begins anew; false if the task has ended before. */
  async cancel(task: TaskRecord): Promise<boolean> {
    try {
      const snapshot = await this.#runtime.cancelNow(task.id, task);
      await this.release(snapshot.task);
      return true;
    } catch (error) {
      if (error instanceof HoldfastError && error.code === "finished") return false;
      throw error;
    }
  }

  /** Makes an ended task give up its key, so that the same call begins anew. Never rejects. */
  async release(task: TaskRecord): Promise<void> {
    try {
      await this.#runtime.delivered(task.id, task);
    } catch (error) {
      // The same call then gets this result again, which is better than none.
      if (!isStopping(error)) this.#onError(error);
    }
  }

  #send(task: TaskRecord, delivery: Delivery): (arrived: boolean) => void {
    // A key that the caller chose finds the result as often as the caller asks.
    if (!isCallKey(task.idempotencyKey)) return () => undefined;
    move(delivery, "send");
    const answer = Promise.withResolvers<boolean>();
    void this.#work(task.id, delivery, async () => {
      if (!(await answer.promise)) return "lose";
      await this.release(task);
      return "arrive";
    });
    return answer.resolve;
  }

  async #abandon(task: TaskRecord): Promise<DeliveryEvent> {
    try {
      await this.cancel(task);
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

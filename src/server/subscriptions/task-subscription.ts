import type { RequestId } from "@modelcontextprotocol/server";
import { untilStoreAnswers } from "../../runtime/until-store-answers.ts";
import { isUnknownTask } from "../../task/fault.ts";
import type { TaskSnapshot } from "../../task/record.ts";
import type { Connection } from "../connection/connection.ts";
import { Subscribers } from "./subscribers.ts";
import { PendingQuestions } from "./pending-questions.ts";
import { isStopping } from "../faults.ts";
import { LogUpdates } from "./log-updates.ts";
import { TaskUpdates } from "./task-updates.ts";
import type { Subscriber, SubscriptionSetup, Waiter } from "./subscriber.ts";

/**
 * How long questions wait for the answer that names their task, in ms: on another stream they could arrive first, and
 * clients refuse questions of unknown tasks.
 */
const headStartMs = 200;

/** A request that is answered with the end of the task. */
export interface Wait {
  readonly connection: Connection;
  readonly request: RequestId;
  readonly signal: AbortSignal;
  /** For progress on the stream of the request; left out: none is sent. */
  readonly progressToken?: string | number | undefined;
}

/**
 * One task and its subscribers. After each change, the task is read once and sent in the order of A-16: lines of its log,
 * progress, status, questions, and at last the result.
 */
export class TaskSubscription {
  readonly #setup: SubscriptionSetup;
  readonly #subscribers: Subscribers;
  readonly #updates: TaskUpdates;
  readonly #log: LogUpdates;
  readonly #questions: PendingQuestions;
  readonly #unwatch: () => void;
  readonly #over = new AbortController();
  #changed = false;
  #working = false;

  constructor(setup: SubscriptionSetup) {
    this.#setup = setup;
    this.#subscribers = new Subscribers(setup);
    this.#updates = new TaskUpdates(setup, this.#subscribers);
    this.#log = new LogUpdates(setup, this.#subscribers);
    this.#questions = new PendingQuestions(setup, this.#subscribers, () => this.#update());
    this.#unwatch = setup.runtime.watch([setup.id], () => this.#update());
  }

  /** Notifies a connection of changes from now on; its client has the state `known`. */
  follow(subscriber: Omit<Subscriber, "informed">, known: TaskSnapshot): void {
    this.#updates.known(known);
    const { connection } = subscriber;
    const follower: Subscriber = { ...subscriber, informed: false };
    this.#log.begin(connection, known.task);
    this.#updates.begin(follower, known);
    const cancelTimer = this.#setup.runtime.clock.after(headStartMs, () => this.#inform(follower));
    const stop = connection.streams.onStandalone((open) => {
      if (open) this.#update();
      else this.#questions.lost(connection, undefined);
    });
    const onClosing = (): void => {
      this.#subscribers.remove(connection);
      this.#questions.lost(connection, undefined);
      this.#endIfEmpty();
    };
    connection.closing.addEventListener("abort", onClosing, { once: true });
    this.#subscribers.add(follower, () => {
      cancelTimer();
      stop();
      connection.closing.removeEventListener("abort", onClosing);
    });
    this.#update();
  }

  /** A client polled the task: it has the id, and can be asked if no other connection can. */
  polled(connection: Connection, snapshot: TaskSnapshot): void {
    const reachable = this.#subscribers.followers.some((each) => each.connection.isReached(this.#setup));
    if (!reachable && this.#subscribers.followerOn(connection) === undefined) {
      this.follow({ connection, progressToken: undefined }, snapshot);
    }
    const follower = this.#subscribers.followerOn(connection);
    if (follower !== undefined) this.#inform(follower);
  }

  /** Resolves with the task, which is `known` now, once it is finished; rejects with the signal's reason, and if it cannot be read. */
  async wait(
    { connection, request, signal, progressToken }: Wait,
    known: TaskSnapshot,
  ): Promise<TaskSnapshot> {
    this.#updates.known(known);
    const settled = Promise.withResolvers<TaskSnapshot>();
    const open = !connection.isBroken(request);
    const waiter: Waiter = { connection, request, settled, progressToken, open };
    const onAbort = (): void => settled.reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const unlisten = connection.streams.onBroken((broken) => {
      if (broken !== request) return;
      waiter.open = false;
      this.#questions.lost(connection, request);
    });
    this.#log.begin(connection, known.task);
    this.#updates.begin(waiter, known);
    this.#subscribers.waiters.add(waiter);
    this.#update();
    try {
      return await settled.promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      unlisten();
      this.#subscribers.waiters.delete(waiter);
      this.#questions.lost(connection, request);
      this.#endIfEmpty();
    }
  }

  #inform(follower: Subscriber): void {
    if (follower.informed) return;
    follower.informed = true;
    this.#update();
  }

  #update(): void {
    this.#changed = true;
    if (this.#working || this.#over.signal.aborted) return;
    this.#working = true;
    this.#refresh().catch((error: unknown) => this.#failed(error));
  }

  /** Waiting requests fail with the fault; without any, the next change reads the task again. */
  #failed(error: unknown): void {
    // A stop does not end the task: waiting requests end with their connections.
    if (this.#over.signal.aborted || isStopping(error)) return;
    const deleted = isUnknownTask(error);
    if (!deleted && this.#subscribers.waiters.size === 0) this.#setup.onError(error);
    for (const { settled } of this.#subscribers.waiters) settled.reject(error);
    if (deleted) this.#end();
  }

  async #refresh(): Promise<void> {
    const { runtime, id, requestor, onError } = this.#setup;
    const patience = { clock: runtime.clock, onError };
    const read = async (): Promise<TaskSnapshot> => {
      const snapshot = await runtime.get(id, requestor);
      if (this.#log.isBehind(snapshot.task)) await this.#log.send(snapshot.task);
      return snapshot;
    };
    try {
      while (this.#changed && !this.#over.signal.aborted) {
        this.#changed = false;
        this.#publish(await untilStoreAnswers(read, patience, this.#over.signal));
      }
    } finally {
      this.#working = false; // nothing can change between the last check and this
    }
  }

  #publish(snapshot: TaskSnapshot): void {
    const finished = snapshot.task.finishedAt !== null;
    this.#updates.publish(snapshot, this.#log.newest);
    this.#questions.offer(finished ? [] : snapshot.inputs);
    if (!finished) return;
    for (const { settled } of this.#subscribers.waiters) settled.resolve(snapshot);
    this.#end();
  }

  #endIfEmpty(): void {
    if (this.#subscribers.empty) this.#end();
  }

  #end(): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    this.#unwatch();
    this.#subscribers.close();
    this.#questions.close();
    this.#setup.onEnd();
  }
}

import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import type { TaskRecord, TaskSnapshot } from "../../task/record.ts";
import { type OnError, waitOutStop } from "../faults.ts";
import type { Connection } from "../connection/connection.ts";
import { type NewFollower, TaskSubscription } from "./task-subscription.ts";
import type { NotificationFormat, Wait } from "./subscribers.ts";
import { type Attendance, waitForTask } from "../waiting-call.ts";
import type { ReserveMemory } from "../../store/store.ts";
import { resourceUpdated, type TaskResource } from "../../generation/extensions.ts";
import { untilStoreAnswers } from "../../runtime/observed-store.ts";
import { isStopping, HoldfastError } from "../../task/fault.ts";
import { type GrownLines, LineFeed } from "../listen/feeds.ts";
import { type LineReader, resourceNotFound } from "../task-resources.ts";

/** A request that waits for the end of a task. */
interface WaitForEnd extends Wait {
  readonly signal: AbortSignal;
  /** As that of the request. */
  readonly reserve?: ReserveMemory | undefined;
}

/** The tasks of one generation to which connections of this process are subscribed. */
export class TaskSubscriptions {
  readonly #runtime: Runtime;
  readonly #onError: OnError;
  readonly #format: NotificationFormat;
  readonly #subscriptions = new Map<string, TaskSubscription>();
  readonly #waits = new Set<Wait>();

  constructor(runtime: Runtime, onError: OnError, format: NotificationFormat) {
    this.#runtime = runtime;
    this.#format = format;
    this.#onError = onError;
  }

  /** How many requests wait for the end of a task on unbroken streams. */
  get waiting(): number {
    return [...this.#waits].filter(({ connection, request }) => !connection.isBroken(request)).length;
  }

  /** Subscribes the connection on which a task was created, until the task or the connection ends. */
  follow(created: TaskSnapshot, requestor: Requestor, subscriber: NewFollower): void {
    if (created.task.finishedAt !== null || subscriber.connection.closing.aborted) return;
    this.#subscriptionTo(created.task, requestor).follow(subscriber, created.task);
  }

  /** A client polled the task; it may be the only one that questions can reach. */
  polled(snapshot: TaskSnapshot, requestor: Requestor, connection: Connection): void {
    // A connection without a session ends with its request.
    if (snapshot.inputs.length === 0 || !connection.streams.initialized) return;
    if (!connection.closing.aborted)
      this.#subscriptionTo(snapshot.task, requestor).polled(connection, snapshot.task);
  }

  /** A request waits for the task: what is new is sent on its stream, and questions are asked there. */
  attend(task: TaskRecord, requestor: Requestor, wait: Wait): Attendance {
    return this.#subscriptionTo(task, requestor).attend(wait, task);
  }

  /** Resolves with the finished task (C-059); rejects with `unknown_task`, and with the signal's reason. */
  async finished(
    id: string,
    requestor: Requestor,
    { signal, reserve, ...wait }: WaitForEnd,
  ): Promise<TaskSnapshot> {
    const isAnswerable = ({ task }: TaskSnapshot): boolean => task.finishedAt !== null;
    let attendance: Attendance | undefined;
    this.#waits.add(wait);
    try {
      const snapshot = await this.#runtime.get(id, requestor, undefined, reserve);
      if (isAnswerable(snapshot)) return snapshot;
      const { task } = snapshot;
      attendance = this.attend(task, requestor, wait);
      const services = { runtime: this.#runtime, onError: this.#onError, reserve };
      return await waitForTask({ ...services, ...attendance, task, isAnswerable, signal });
    } catch (error) {
      return await waitOutStop(error, signal);
    } finally {
      attendance?.leave();
      this.#waits.delete(wait);
    }
  }

  #subscriptionTo({ id, wireId, requiredScopes }: TaskRecord, requestor: Requestor): TaskSubscription {
    let subscription = this.#subscriptions.get(id);
    if (subscription === undefined) {
      const onEnd = (): void => void this.#subscriptions.delete(id);
      const about = { id, wireId, requiredScopes, requestor, format: this.#format };
      subscription = new TaskSubscription({
        runtime: this.#runtime,
        ...about,
        onError: this.#onError,
        onEnd,
      });
      this.#subscriptions.set(id, subscription);
    }
    return subscription;
  }
}

/** How many logs and outputs one connection follows. */
export const mostFollowedLists = 100;

interface Setup {
  readonly runtime: Runtime;
  readonly connection: Connection;
  readonly onError: OnError;
}

/** The logs and outputs to which the client of a connection has subscribed: it is notified when they have grown, and when their task ends. */
export class LineSubscriptions {
  readonly #setup: Setup;
  /** Undefined before the first subscription. */
  #feed: LineFeed | undefined;
  /** Notifications that could not be sent yet, by URI. */
  readonly #pending = new Map<string, GrownLines>();

  constructor(setup: Setup) {
    this.#setup = setup;
  }

  /** `isBehind`: as in `LineFeed.add`. Rejects for a task that is not the reader's, and with `limit_reached`. */
  async subscribe(resource: TaskResource, reader: LineReader, isBehind: boolean): Promise<void> {
    const { streams } = this.#setup.connection;
    const feed = (this.#feed ??= this.#open());
    if (feed.size >= mostFollowedLists && !feed.follows(resource.uri)) throw tooMany();
    const followed = await feed.add(resource, reader, isBehind);
    if (followed === undefined) throw resourceNotFound(resource.uri);
    streams.needs?.(followed.task.requiredScopes);
  }

  unsubscribe(uri: string): void {
    this.#feed?.remove(uri);
    this.#pending.delete(uri);
  }

  #open(): LineFeed {
    const { runtime, connection, onError } = this.#setup;
    const feed = new LineFeed(runtime);
    const stop = connection.streams.onStandalone((open) => {
      const pending = open ? [...this.#pending.values()] : []; // those that are kept again are not tried again
      for (const grown of pending) void this.#notify(grown);
    });
    const close = (): void => {
      stop();
      feed.close();
    };
    connection.closing.addEventListener("abort", close, { once: true });
    if (connection.closing.aborted) close();
    this.#push(feed).catch((error: unknown) => {
      if (!connection.closing.aborted && !isStopping(error)) onError(error);
    });
    return feed;
  }

  async #push(feed: LineFeed): Promise<void> {
    const { runtime, connection, onError } = this.#setup;
    const patience = { clock: runtime.clock, onError };
    while (await feed.changed()) {
      const grown = await untilStoreAnswers(() => feed.take(), patience, connection.closing);
      // One at a time, so that no more wait for a client that does not read.
      if (grown !== undefined) await this.#notify(grown);
    }
  }

  async #notify(grown: GrownLines): Promise<void> {
    const { connection } = this.#setup;
    const { uri } = grown;
    this.#pending.delete(uri);
    if (connection.isReached(grown)) {
      await connection.deliver(resourceUpdated, { uri }, undefined);
      return;
    }
    // Sent when there is a stream for it. If there are too many, the oldest is dropped.
    this.#pending.set(uri, grown);
    const [oldest = uri] = this.#pending.keys();
    if (this.#pending.size > mostFollowedLists) this.#pending.delete(oldest);
  }
}

function tooMany(): HoldfastError {
  const message = `You already follow ${mostFollowedLists} logs and outputs. End a subscription with resources/unsubscribe first.`;
  return new HoldfastError("limit_reached", message);
}

import type { RequestId } from "@modelcontextprotocol/server";
import { untilStoreAnswers } from "../../runtime/observed-store.ts";
import { isStopping, isUnknownTask } from "../../task/fault.ts";
import type { TaskSnapshot, TaskRecord, Progress } from "../../task/record.ts";
import type { Connection } from "../connection/connection.ts";
import {
  type NotificationFormat,
  PendingQuestions,
  type Subscriber,
  Subscribers,
  type SubscriptionSetup,
  type Waiter,
} from "./subscribers.ts";
import { isAtLeast } from "../../generation/message.ts";
import { type LogLine, logLines, newestShown, sentProgress, shownProgress } from "../log-messages.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { ReserveMemory } from "../../store/store.ts";
import { pushed } from "../tracing.ts";

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
  /** As that of the request. */
  readonly reserve?: ReserveMemory | undefined;
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
    const answersOnly = connection.streams.answersOnly?.(request) === true;
    const open = !answersOnly && !connection.isBroken(request);
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
    // What cannot come with the answer comes on the standalone stream, as long as the request waits.
    const attends = answersOnly && this.#subscribers.followerOn(connection) === undefined;
    if (attends) this.follow({ connection, progressToken: undefined }, known);
    this.#update();
    try {
      return await settled.promise;
    } finally {
      if (attends) {
        this.#subscribers.remove(connection);
        this.#questions.lost(connection, undefined);
      }
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
      const snapshot = await runtime.get(id, requestor, "unasked");
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

type Setup = Pick<SubscriptionSetup, "runtime" | "requestor" | "format">;

/** The lines of a task's log, which each connection gets once, from when it began to follow the task. */
export class LogUpdates {
  readonly #setup: Setup;
  readonly #subscribers: Subscribers;
  /** The last line that each connection got, or did not want. */
  readonly #sent = new WeakMap<Connection, number>();
  /** The last line that was looked at for progress. */
  #seen = 0;
  #newest: LogLine | undefined;

  constructor(setup: Setup, subscribers: Subscribers) {
    this.#setup = setup;
    this.#subscribers = subscribers;
  }

  /** The newest line that goes with progress, as far as lines were read. */
  get newest(): LogLine | undefined {
    return this.#newest;
  }

  /** A connection is about to subscribe; its client has this state of the task. */
  begin(connection: Connection, { logged }: TaskRecord): void {
    if (!this.#subscribers.connections.has(connection)) this.#sent.set(connection, logged);
  }

  /** Whether a reachable client wants lines of this state that were not read yet. */
  isBehind(task: TaskRecord): boolean {
    return this.#wantedAfter(task) < task.logged;
  }

  /** Reads the wanted lines of this state, and sends them. */
  async send(task: TaskRecord): Promise<void> {
    const { runtime, requestor, format } = this.#setup;
    const after = this.#wantedAfter(task);
    const lines = await logLines(runtime, task, requestor, after);
    if (after <= this.#seen) {
      this.#newest = newestShown(lines) ?? this.#newest;
      this.#seen = task.logged;
    }
    for (const connection of this.#subscribers.connections) {
      const sent = this.#sentTo(connection, task);
      const { logLevel } = connection;
      const route = this.#subscribers.routeTo(connection);
      if (logLevel === undefined || route === undefined || sent < after) continue;
      for (const line of lines) {
        const message = line.seq > sent && isAtLeast(logLevel, line) ? format.log?.(line, task) : undefined;
        if (message !== undefined) connection.notify(message.method, message.params, route.via);
      }
      this.#sent.set(connection, Math.max(sent, task.logged));
    }
  }

  /** The number after which lines are wanted; that of the last line if none are. */
  #wantedAfter(task: TaskRecord): number {
    const { format } = this.#setup;
    let after = task.logged;
    if (format.progress !== undefined && task.finishedAt === null && this.#subscribers.wantProgress) {
      after = Math.min(after, this.#seen);
    }
    if (format.log === undefined) return after;
    for (const connection of this.#subscribers.connections) {
      const sent = this.#sentTo(connection, task);
      const isReached = this.#subscribers.routeTo(connection) !== undefined;
      // Who cannot be reached gets the lines later, as far as they are kept, unless another process may have sent them.
      const isOver =
        connection.logLevel === undefined ||
        (!isReached && this.#subscribers.followerOn(connection)?.isTakenUp === true);
      if (isOver) this.#sent.set(connection, Math.max(sent, task.logged));
      else if (isReached) after = Math.min(after, sent);
    }
    return after;
  }

  #sentTo(connection: Connection, { logged }: TaskRecord): number {
    return this.#sent.get(connection) ?? logged;
  }
}

interface Report {
  readonly progress: Progress;
  readonly wireId: string;
}

/** The notifications about a task: its state when it changed, progress when it grew. */
export class TaskUpdates {
  readonly #runtime: Pick<Runtime, "telemetry" | "clock">;
  readonly #subscribers: Subscribers;
  readonly #format: NotificationFormat;
  #sent: string | undefined;
  /** The last progress that each got. */
  readonly #progress = new WeakMap<Subscriber | Waiter, number>();

  constructor({ runtime, format }: Pick<SubscriptionSetup, "runtime" | "format">, subscribers: Subscribers) {
    this.#runtime = runtime;
    this.#subscribers = subscribers;
    this.#format = format;
  }

  /** Clients have this state: it is sent again only if it changes. */
  known(snapshot: TaskSnapshot): void {
    this.#sent ??= JSON.stringify(this.#format.state?.(snapshot));
  }

  /** A subscriber gets progress beyond what its client may already have, in this state. */
  begin(subscriber: Subscriber | Waiter, { task }: TaskSnapshot): void {
    const sent = sentProgress(task);
    if (sent !== undefined) this.#progress.set(subscriber, sent);
  }

  /** `line`: the newest line of its log that goes with progress. */
  publish(snapshot: TaskSnapshot, line: LogLine | undefined): void {
    const progress = shownProgress(snapshot.task.progress, line);
    if (snapshot.task.finishedAt === null && progress !== undefined) this.#sendProgress(snapshot, progress);
    this.#sendState(snapshot);
  }

  #sendState(snapshot: TaskSnapshot): void {
    const notification = this.#format.state?.(snapshot);
    const text = JSON.stringify(notification);
    if (notification === undefined || text === this.#sent) return;
    this.#sent = text;
    for (const connection of this.#subscribers.connections) {
      const route = this.#subscribers.routeTo(connection);
      if (route === undefined) continue;
      connection.notify(notification.method, notification.params, route.via);
      pushed(this.#runtime, snapshot.task.updatedAt);
    }
  }

  /** It has to grow. Those with a progress token get it as soon as they can be reached. */
  #sendProgress({ task }: TaskSnapshot, progress: Progress): void {
    const report = { progress, wireId: task.wireId };
    for (const follower of this.#subscribers.followers) {
      const route = this.#subscribers.routeTo(follower.connection);
      if (route !== undefined) this.#sendProgressTo(follower, follower.connection, route.via, report);
    }
    for (const waiter of this.#subscribers.waiters) {
      this.#sendProgressTo(waiter, waiter.connection, waiter.request, report);
    }
  }

  #sendProgressTo(
    recipient: Subscriber | Waiter,
    connection: Connection,
    via: RequestId | undefined,
    { progress, wireId }: Report,
  ): void {
    const { progressToken } = recipient;
    if (progressToken === undefined) return;
    if (progress.progress <= (this.#progress.get(recipient) ?? -Infinity)) return;
    this.#progress.set(recipient, progress.progress);
    const notification = this.#format.progress?.(progressToken, progress, wireId);
    if (notification !== undefined) connection.notify(notification.method, notification.params, via);
  }
}

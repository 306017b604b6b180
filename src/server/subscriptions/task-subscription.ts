import { untilStoreAnswers } from "../../runtime/observed-store.ts";
import { isStopping, isUnknownTask } from "../../task/fault.ts";
import type { TaskSnapshot, TaskRecord, Progress } from "../../task/record.ts";
import type { Connection } from "../connection/connection.ts";
import {
  PendingQuestions,
  type Subscriber,
  Subscribers,
  type SubscriptionSetup,
  type Wait,
} from "./subscribers.ts";
import { isAtLeast } from "../../generation/message.ts";
import { type LogLine, logLines, newestShown, sentProgress, shownProgress } from "../log-messages.ts";
import { whenAborted } from "../../runtime/wait-for.ts";
import { pushed } from "../tracing.ts";
import type { Attendance } from "../waiting-call.ts";

/**
 * How long questions wait for the answer that names their task, in ms: on another stream they could arrive first, and
 * clients refuse questions of unknown tasks.
 */
const headStartMs = 200;

const nothing = (): void => undefined;

/** A connection that is to follow a task. */
export type NewFollower = Pick<Subscriber, "connection" | "progressToken" | "isTakenUp">;

/**
 * One task and its subscribers. Each state is sent in the order of A-16: lines of its log, progress, status, questions, and at last the
 * result. A request that waits for the task reads it after each change; it is read here while there is none.
 */
export class TaskSubscription {
  readonly #setup: SubscriptionSetup;
  readonly #subscribers: Subscribers;
  readonly #log: LogUpdates;
  readonly #questions: PendingQuestions;
  readonly #unwatch: () => void;
  readonly #over = new AbortController();
  /** The state that clients have, as text: it is sent again only if it changes. */
  #state: string | undefined;
  /** Of the newest state that was sent. */
  #version = 0;
  /** States are sent one after another. */
  #sent: Promise<void> = Promise.resolve();
  #changed = false;
  #working = false;

  constructor(setup: SubscriptionSetup) {
    this.#setup = setup;
    this.#subscribers = new Subscribers(setup);
    this.#log = new LogUpdates(setup, this.#subscribers);
    this.#questions = new PendingQuestions(setup, this.#subscribers, () => this.#update());
    this.#unwatch = setup.runtime.watch([setup.id], () => this.#update());
  }

  /** Notifies a connection of changes from now on; its client has the state `known`. */
  follow({ connection, ...follower }: NewFollower, known: TaskRecord): void {
    const lost = (): void => this.#questions.lost(connection, undefined);
    const ends = [
      this.#setup.runtime.clock.after(headStartMs, () => this.#inform(connection)),
      connection.streams.onStandalone((open) => (open ? this.#update() : lost())),
    ];
    const end = (): void => {
      for (const each of ends) each();
    };
    this.#begin({ ...follower, connection, takesQuestions: false, progress: undefined, end }, known);
    ends.push(whenAborted(connection.closing, () => this.#leave(connection)));
    this.#update();
  }

  /** A client polled the task: it has the id, and can be asked if no other connection can. */
  polled(connection: Connection, task: TaskRecord): void {
    if (!this.#subscribers.someIsReached && this.#subscribers.followerOn(connection) === undefined)
      this.follow({ connection }, task);
    this.#inform(connection);
  }

  /** A request waits for the task, which is `known` now. */
  attend({ connection, request, progressToken }: Wait, known: TaskRecord): Attendance {
    const answersOnly = connection.streams.answersOnly?.(request) === true;
    const end = connection.streams.onBroken((broken) => {
      if (broken !== request) return;
      waiter.takesQuestions = false;
      this.#questions.lost(connection, request);
    });
    const takesQuestions = !answersOnly && !connection.isBroken(request);
    let wake = nothing;
    const waiter: Subscriber = {
      connection,
      request,
      progressToken,
      takesQuestions,
      progress: undefined,
      wake: () => wake(),
      end,
    };
    this.#begin(waiter, known);
    // What cannot come with the answer comes on the standalone stream, as long as the request waits.
    const attends = answersOnly && this.#subscribers.followerOn(connection) === undefined;
    if (attends) this.follow({ connection }, known);
    return {
      watch(changed) {
        wake = changed;
        return () => (wake = nothing);
      },
      report: (snapshot) => this.#send(snapshot),
      leave: () => {
        end();
        this.#subscribers.waiters.delete(waiter);
        this.#questions.lost(connection, request);
        if (attends) this.#leave(connection);
        else this.#endIfEmpty();
        this.#update(); // which it may not have read
      },
    };
  }

  #begin(subscriber: Subscriber, known: TaskRecord): void {
    this.#state ??= JSON.stringify(this.#setup.format.state?.(known));
    this.#log.begin(subscriber.connection, known);
    subscriber.progress = sentProgress(known);
    if (subscriber.request === undefined) this.#subscribers.follow(subscriber);
    else this.#subscribers.waiters.add(subscriber);
  }

  #leave(connection: Connection): void {
    this.#subscribers.remove(connection);
    this.#questions.lost(connection, undefined);
    this.#endIfEmpty();
  }

  #inform(connection: Connection): void {
    const follower = this.#subscribers.followerOn(connection);
    if (follower === undefined || follower.takesQuestions) return;
    follower.takesQuestions = true;
    this.#update();
  }

  #update(): void {
    const { waiters } = this.#subscribers;
    for (const { wake } of waiters) wake?.();
    if (waiters.size > 0) return;
    this.#changed = true;
    if (this.#working || this.#over.signal.aborted) return;
    this.#working = true;
    this.#refresh().catch((error: unknown) => this.#failed(error));
  }

  /** The next change reads the task again. */
  #failed(error: unknown): void {
    if (this.#over.signal.aborted || isStopping(error)) return;
    if (isUnknownTask(error)) this.#end();
    else this.#setup.onError(error);
  }

  async #refresh(): Promise<void> {
    const { runtime, id, requestor, onError } = this.#setup;
    const patience = { clock: runtime.clock, onError };
    const read = async (): Promise<void> => this.#send(await runtime.get(id, requestor, "unasked"));
    try {
      while (this.#changed && this.#subscribers.waiters.size === 0 && !this.#over.signal.aborted) {
        this.#changed = false;
        await untilStoreAnswers(read, patience, this.#over.signal);
      }
    } finally {
      this.#working = false; // nothing can change between the last check and this
    }
  }

  /** Sends what is new in a state, unless a newer one was sent. */
  #send(snapshot: TaskSnapshot): Promise<void> {
    const sent = this.#sent.then(async () => {
      const { task } = snapshot;
      if (this.#over.signal.aborted || task.version < this.#version) return;
      await this.#log.upTo(task);
      this.#version = task.version;
      const finished = task.finishedAt !== null;
      const progress = shownProgress(task.progress, this.#log.newest);
      if (!finished && progress !== undefined) this.#sendProgress(task, progress);
      this.#sendState(task);
      this.#questions.offer(finished ? [] : snapshot.inputs);
      if (finished) this.#end();
    });
    this.#sent = sent.catch(() => undefined); // which is told to who reads the task
    return sent;
  }

  #sendState(task: TaskRecord): void {
    const notification = this.#setup.format.state?.(task);
    const text = JSON.stringify(notification);
    if (notification === undefined || text === this.#state) return;
    this.#state = text;
    for (const connection of this.#subscribers.connections) {
      const route = this.#subscribers.routeTo(connection);
      if (route === undefined) continue;
      connection.notify(notification.method, notification.params, route.via);
      pushed(this.#setup.runtime, task.updatedAt);
    }
  }

  /** It has to grow. Those with a progress token get it as soon as they can be reached. */
  #sendProgress(task: TaskRecord, progress: Progress): void {
    for (const subscriber of this.#subscribers.all) {
      const { connection, request, progressToken, progress: sent = -Infinity } = subscriber;
      const route = request === undefined ? this.#subscribers.routeTo(connection) : { via: request };
      if (progressToken === undefined || route === undefined || progress.progress <= sent) continue;
      subscriber.progress = progress.progress;
      const notification = this.#setup.format.progress?.(progressToken, progress, task);
      if (notification !== undefined) connection.notify(notification.method, notification.params, route.via);
    }
  }

  #endIfEmpty(): void {
    if (this.#subscribers.all.length === 0) this.#end();
  }

  #end(): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    this.#unwatch();
    this.#subscribers.close();
    this.#questions.offer([]);
    this.#setup.onEnd();
  }
}

type Setup = Pick<SubscriptionSetup, "runtime" | "requestor" | "format">;

/** The lines of a task's log, which each connection gets once, from when it began to follow the task. */
class LogUpdates {
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

  /** Sends the lines of this state; reads none that no client can be sent, or wants. */
  async upTo(task: TaskRecord): Promise<void> {
    const { runtime, requestor, format } = this.#setup;
    const after = this.#wantedAfter(task);
    if (after >= task.logged) return;
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
    if (
      format.progress !== undefined &&
      task.finishedAt === null &&
      this.#subscribers.all.some(({ progressToken }) => progressToken !== undefined)
    ) {
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

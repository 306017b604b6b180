import type { BackgroundWork } from "../background-work.ts";
import type { ClientEvents, ClientTracing } from "../client-events.ts";
import { type ClientClock, noLongerNeeded } from "../clock.ts";
import type { ListenEnd, TaskProtocol } from "../task-protocol.ts";
import { retryDelay } from "./poll-limits.ts";
import type { RemoteTask } from "./remote-task.ts";

/** Removes the subscriber. `ended`: the task has ended. */
export type Unsubscribe = (ended: boolean) => void;

interface ListenStreamsOptions extends Omit<ListenStreamOptions, "listen"> {
  /** Undefined if the server cannot push. */
  readonly listen: TaskProtocol["listen"] | undefined;
  /** Undefined where nothing is traced. */
  readonly tracing: ClientTracing | undefined;
}

interface Subscription {
  readonly taskId: string;
  readonly subscriber: ListenSubscriber;
  /** Its stream; undefined if all are full. */
  stream: ListenStream | undefined;
}

/** Enough for 10,000 tasks, and well below a Holdfast server's limit per principal. */
const maxStreams = 20;

/**
 * Listens to all tasks that callers wait for: on one stream while they fit, then on further ones. Tasks beyond the
 * limit are only polled until there is capacity.
 */
export class ListenStreams {
  readonly #options: ListenStreamsOptions;
  readonly #streams = new Set<ListenStream>();
  readonly #subscriptions = new Set<Subscription>();
  /** Subscriptions without a stream. */
  readonly #waiting = new Set<Subscription>();
  /** Lowered to what the server accepts, once it refuses a stream. */
  #maxStreams = maxStreams;

  constructor(options: ListenStreamsOptions) {
    this.#options = options;
  }

  add(taskId: string, subscriber: ListenSubscriber): Unsubscribe {
    const subscription: Subscription = { taskId, subscriber, stream: undefined };
    this.#subscriptions.add(subscription);
    this.#place(subscription);
    return (ended) => {
      this.#subscriptions.delete(subscription);
      this.#waiting.delete(subscription);
      subscription.stream?.remove(taskId, subscriber, ended);
      const [next] = this.#waiting;
      if (next !== undefined && subscription.stream !== undefined) this.#place(next);
    };
  }

  #place(subscription: Subscription): void {
    const stream = [...this.#streams].find(({ hasCapacity }) => hasCapacity) ?? this.#newStream();
    subscription.stream = stream;
    if (stream === undefined) {
      this.#waiting.add(subscription);
      return;
    }
    this.#waiting.delete(subscription);
    stream.add(subscription.taskId, subscription.subscriber);
    if (this.#streams.has(stream)) return;
    this.#streams.add(stream);
    const { background, tracing } = this.#options;
    // It serves many waits.
    background.run(tracing?.apart(() => this.#run(stream)) ?? this.#run(stream));
  }

  #newStream(): ListenStream | undefined {
    const { listen, clock, events, background } = this.#options;
    if (listen === undefined || this.#streams.size >= this.#maxStreams) return undefined;
    return new ListenStream({ listen, clock, events, background });
  }

  async #run(stream: ListenStream): Promise<void> {
    let end: "idle" | "refused" = "idle";
    try {
      end = await stream.run();
    } finally {
      this.#streams.delete(stream);
    }
    if (end === "idle") return;
    this.#maxStreams = this.#streams.size;
    for (const subscription of this.#subscriptions)
      if (subscription.stream === stream) this.#place(subscription);
  }
}

/** Receives the pushes about one task. */
interface ListenSubscriber {
  /** Called before the request: the server's pushes are newer than everything known at this point. */
  onRequested(): void;
  /** Called when the server starts or stops pushing this task. */
  onSubscribed(listened: boolean): void;
  onTask(task: RemoteTask): void;
}

interface ListenStreamOptions {
  readonly listen: NonNullable<TaskProtocol["listen"]>;
  readonly clock: ClientClock;
  readonly events: ClientEvents;
  readonly background: BackgroundWork;
}

/** One listen request, from the pause before it to its end. */
interface ListenAttempt {
  readonly stop: AbortController;
  readonly requested: Map<string, ListenSubscriber>;
  /** `reopening`: it ends soon, and another one is sent for other tasks. */
  phase: "pausing" | "requested" | "reopening";
}

/** Waits for more calls, so that one stream serves them all. */
const settleMs = 10;
/** A reopened stream sends the states of tasks again that it has told of before; this limits them to 200 per second. */
const reopenMsPerTask = 5;
/** Tasks on one stream. A Holdfast server accepts 1,000; others may accept fewer. */
const maxTasks = 500;
/** The end of a stream that was open this long is not a failure. */
const steadyMs = 10_000;

/**
 * A stream of pushes about the tasks that callers wait for. It is open while it has subscribers, and is reopened
 * when they change, or with backoff after it broke. Ends when the server refuses it.
 */
class ListenStream {
  readonly #options: ListenStreamOptions;
  readonly #wanted = new Map<string, ListenSubscriber>();
  #attempt: ListenAttempt | undefined;
  #isOver = false;

  constructor(options: ListenStreamOptions) {
    this.#options = options;
  }

  get hasCapacity(): boolean {
    return !this.#isOver && this.#wanted.size < maxTasks;
  }

  /** Can be called before and during `run`. */
  add(taskId: string, subscriber: ListenSubscriber): void {
    this.#wanted.set(taskId, subscriber);
    this.#changed();
  }

  /** `ended`: the task has ended, so the stream need not be reopened without it. */
  remove(taskId: string, subscriber: ListenSubscriber, ended: boolean): void {
    if (this.#wanted.get(taskId) === subscriber) this.#wanted.delete(taskId);
    if (ended && this.#attempt?.requested.get(taskId) === subscriber) this.#attempt.requested.delete(taskId);
    this.#changed();
  }

  /** Listens until there are no subscribers, or the server refuses. */
  async run(): Promise<"idle" | "refused"> {
    const { clock, events } = this.#options;
    try {
      let failures = 0;
      for (let pause = settleMs; this.#wanted.size > 0;) {
        const { end, openMs } = await this.#listen(pause);
        // Ended by this client: to reopen at once for other tasks, or since there are no subscribers.
        pause = this.#attempt?.phase === "reopening" ? 0 : settleMs;
        if (end === undefined) continue;
        this.#unsubscribeAll();
        if (end.kind === "refused") {
          events.emit({ type: "listening_refused" });
          return "refused";
        }
        failures = openMs >= steadyMs ? 1 : failures + 1;
        pause = retryDelay(failures, clock.random(), end.retryAfterMs);
        events.emit({ type: "listening_ended", retryInMs: pause });
      }
      return "idle";
    } finally {
      this.#isOver = true;
      this.#unsubscribeAll();
    }
  }

  async #listen(pause: number): Promise<{ end: ListenEnd | undefined; openMs: number }> {
    const { listen, clock, background, events } = this.#options;
    const { closing } = background;
    const attempt: ListenAttempt = { stop: new AbortController(), requested: new Map(), phase: "pausing" };
    this.#attempt = attempt;
    const signal = AbortSignal.any([attempt.stop.signal, closing]);
    let openedAt = Infinity;
    try {
      if (pause > 0) await clock.sleep(pause, signal);
      attempt.phase = "requested";
      for (const [taskId, subscriber] of this.#wanted) {
        attempt.requested.set(taskId, subscriber);
        subscriber.onRequested();
      }
      const end = await listen(
        [...attempt.requested.keys()],
        {
          onOpen: (accepted) => {
            openedAt = clock.elapsed();
            const acceptedIds = new Set(accepted);
            const { size } = attempt.requested;
            events.emit({ type: "listening_opened", asked: size, accepted: acceptedIds.size });
            for (const [id, subscriber] of attempt.requested) subscriber.onSubscribed(acceptedIds.has(id));
          },
          onTask: (task) => {
            const subscriber = attempt.requested.get(task.taskId);
            // A newer subscriber to the task gets its state from the next stream.
            if (subscriber !== undefined && subscriber === this.#wanted.get(task.taskId))
              subscriber.onTask(task);
          },
        },
        signal,
      );
      return { end, openMs: clock.elapsed() - openedAt };
    } catch (error) {
      if (closing.aborted || !attempt.stop.signal.aborted) throw error;
      return { end: undefined, openMs: 0 };
    } finally {
      attempt.stop.abort(noLongerNeeded);
    }
  }

  /** Ends the stream without subscribers, and reopens it for others. Collects changes for a while. */
  #changed(): void {
    const { clock, background } = this.#options;
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    if (this.#wanted.size === 0) attempt.stop.abort(noLongerNeeded);
    if (attempt.phase !== "requested" || attempt.stop.signal.aborted) return;
    const { requested, stop } = attempt;
    const fits =
      requested.size === this.#wanted.size &&
      [...requested].every(([id, subscriber]) => this.#wanted.get(id) === subscriber);
    if (fits) return;
    attempt.phase = "reopening";
    const again = [...requested].filter(([id, subscriber]) => this.#wanted.get(id) === subscriber).length;
    const soon = Math.max(settleMs, again * reopenMsPerTask);
    const reopen = (): void => stop.abort(noLongerNeeded);
    // If the stream ends earlier, the next one includes the change.
    clock.sleep(soon, AbortSignal.any([stop.signal, background.closing])).then(reopen, reopen);
  }

  #unsubscribeAll(): void {
    for (const subscriber of this.#wanted.values()) subscriber.onSubscribed(false);
  }
}

import type { ClientTracing } from "../client-telemetry.ts";
import type { TaskProtocol } from "../task-protocol.ts";
import { ListenStream, type ListenSubscriber, type ListenStreamOptions } from "./listen-stream.ts";

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

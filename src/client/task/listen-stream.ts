import type { BackgroundWork } from "../background-work.ts";
import type { ClientClock } from "../clock.ts";
import type { ListenEnd, TaskProtocol } from "../task-protocol.ts";
import type { ClientEvents } from "../client-events.ts";
import { retryDelay } from "./poll-delays.ts";
import type { RemoteTask } from "./remote-task.ts";

/** Receives the pushes about one task. */
export interface ListenSubscriber {
  /** Called before the request: the server's pushes are newer than everything known at this point. */
  onRequested(): void;
  /** Called when the server starts or stops pushing this task. */
  onSubscribed(listened: boolean): void;
  onTask(task: RemoteTask): void;
}

export interface ListenStreamOptions {
  readonly listen: NonNullable<TaskProtocol["listen"]>;
  readonly clock: ClientClock;
  readonly events: ClientEvents;
  readonly background: BackgroundWork;
}

/** One listen request, from the pause before it to its end. */
interface ListenAttempt {
  readonly stop: AbortController;
  /** The requested tasks; empty during the pause. */
  readonly requested: Map<string, ListenSubscriber>;
  reopens: boolean;
}

/** Waits for more calls, so that one stream serves them all. */
const settleMs = 100;
/** A reopened stream sends every state again; this limits them to 200 per second. */
const reopenMsPerTask = 5;
/** Tasks on one stream. A Holdfast server accepts 1,000; others may accept fewer. */
const maxTasks = 500;
/** The end of a stream that was open this long is not a failure. */
const steadyMs = 10_000;

/**
 * A stream of pushes about the tasks that callers wait for. It is open while it has subscribers, and is reopened
 * when they change, or with backoff after it broke. Ends when the server refuses it.
 */
export class ListenStream {
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
        pause = this.#attempt?.reopens === true ? 0 : settleMs;
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
    const attempt: ListenAttempt = { stop: new AbortController(), requested: new Map(), reopens: false };
    this.#attempt = attempt;
    const signal = AbortSignal.any([attempt.stop.signal, closing]);
    let openedAt = Infinity;
    try {
      if (pause > 0) await clock.sleep(pause, signal);
      for (const [taskId, subscriber] of this.#wanted) {
        attempt.requested.set(taskId, subscriber);
        subscriber.onRequested();
      }
      const end = await listen(
        [...attempt.requested.keys()],
        {
          onOpen: (accepted) => {
            openedAt = clock.elapsed();
            const heard = new Set(accepted);
            const { size } = attempt.requested;
            events.emit({ type: "listening_opened", asked: size, accepted: heard.size });
            for (const [id, subscriber] of attempt.requested) subscriber.onSubscribed(heard.has(id));
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
      attempt.stop.abort();
    }
  }

  /** Ends the stream without subscribers, and reopens it for others. Collects changes for a while. */
  #changed(): void {
    const { clock, background } = this.#options;
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    if (this.#wanted.size === 0) attempt.stop.abort();
    if (attempt.reopens || attempt.stop.signal.aborted || attempt.requested.size === 0) return;
    const { requested, stop } = attempt;
    const fits =
      requested.size === this.#wanted.size &&
      [...requested].every(([id, subscriber]) => this.#wanted.get(id) === subscriber);
    if (fits) return;
    attempt.reopens = true;
    const soon = Math.max(settleMs, this.#wanted.size * reopenMsPerTask);
    const reopen = (): void => stop.abort();
    // If the stream ends earlier, the next one includes the change.
    clock.sleep(soon, AbortSignal.any([stop.signal, background.closing])).then(reopen, reopen);
  }

  #unsubscribeAll(): void {
    for (const subscriber of this.#wanted.values()) subscriber.onSubscribed(false);
  }
}

import type { ClientClock } from "../clock.ts";
import type { ListenEnd, TaskProtocol } from "../task-protocol.ts";
import type { ClientEvents } from "../events/client-events.ts";
import { retryDelay } from "./pacing.ts";
import type { RemoteTask } from "./remote-task.ts";

/** Somebody who waits for one task. */
export interface Hearer {
  /** The server is about to be asked: what is known of the task by now is older than what it will push. */
  onAsked(): void;
  /** Whether the server pushes this task from now on. */
  onListened(listened: boolean): void;
  onTask(task: RemoteTask): void;
}

export interface ListenStreamOptions {
  readonly listen: NonNullable<TaskProtocol["listen"]>;
  readonly clock: ClientClock;
  readonly events: ClientEvents;
  /** Aborts when the client closes. */
  readonly closing: AbortSignal;
}

/** One request to listen, from the pause before it to its end. */
interface Round {
  readonly stop: AbortController;
  /** Those whose tasks were asked for; empty in the pause before. */
  readonly asked: Map<string, Hearer>;
  reopens: boolean;
}

/** Calls often come several at once; one stream is to serve them all. */
const settleMs = 100;
/** A reopened stream tells every state anew: this keeps that below 200 states a second. */
const reopenMsPerTask = 5;
/** A Holdfast server takes 1,000; others may take fewer. */
const mostTasks = 500;
/** A stream that stood for so long has not failed when it ends. */
const steadyMs = 10_000;

/**
 * A stream on which a client listens to tasks that somebody waits for. It is open only while somebody does, opened again
 * for other tasks, and after a break with growing pauses. A server that refuses it is not asked again.
 */
export class ListenStream {
  readonly #options: ListenStreamOptions;
  readonly #wanted = new Map<string, Hearer>();
  #round: Round | undefined;
  #isOver = false;

  constructor(options: ListenStreamOptions) {
    this.#options = options;
  }

  get hasRoom(): boolean {
    return !this.#isOver && this.#wanted.size < mostTasks;
  }

  /** Before it runs, or while it does. */
  join(taskId: string, hearer: Hearer): void {
    this.#wanted.set(taskId, hearer);
    this.#changed();
  }

  /** `ended` says that the server has nothing more to push of the task. */
  leave(taskId: string, hearer: Hearer, ended: boolean): void {
    if (this.#wanted.get(taskId) === hearer) this.#wanted.delete(taskId);
    if (ended && this.#round?.asked.get(taskId) === hearer) this.#round.asked.delete(taskId);
    this.#changed();
  }

  /** Listens until nobody waits, or the server refuses: then somebody may still do. */
  async run(): Promise<"left" | "refused"> {
    const { clock, events } = this.#options;
    try {
      let failures = 0;
      for (let pause = settleMs; this.#wanted.size > 0;) {
        const { end, stoodMs } = await this.#listen(pause);
        // Ended here: to be opened for other tasks, which have had their time to come together, or because all left.
        pause = this.#round?.reopens === true ? 0 : settleMs;
        if (end === undefined) continue;
        this.#unheard();
        if (end.kind === "refused") {
          events.tell({ type: "listening_refused" });
          return "refused";
        }
        failures = stoodMs >= steadyMs ? 1 : failures + 1;
        pause = retryDelay(failures, clock.random(), end.retryAfterMs);
        events.tell({ type: "listening_ended", retryInMs: pause });
      }
      return "left";
    } finally {
      this.#isOver = true;
      this.#unheard();
    }
  }

  async #listen(pause: number): Promise<{ end: ListenEnd | undefined; stoodMs: number }> {
    const { listen, clock, closing, events } = this.#options;
    const round: Round = { stop: new AbortController(), asked: new Map(), reopens: false };
    this.#round = round;
    const signal = AbortSignal.any([round.stop.signal, closing]);
    let openedAt = Infinity;
    try {
      if (pause > 0) await clock.sleep(pause, signal);
      for (const [taskId, hearer] of this.#wanted) {
        round.asked.set(taskId, hearer);
        hearer.onAsked();
      }
      const end = await listen(
        [...round.asked.keys()],
        {
          onOpen: (accepted) => {
            openedAt = clock.elapsed();
            const heard = new Set(accepted);
            const { size } = round.asked;
            events.tell({ type: "listening_opened", asked: size, accepted: heard.size });
            for (const [id, hearer] of round.asked) hearer.onListened(heard.has(id));
          },
          onTask: (task) => {
            const hearer = round.asked.get(task.taskId);
            // Who came back to a task in the meantime hears of it from the next stream.
            if (hearer !== undefined && hearer === this.#wanted.get(task.taskId)) hearer.onTask(task);
          },
        },
        signal,
      );
      return { end, stoodMs: clock.elapsed() - openedAt };
    } catch (error) {
      if (closing.aborted || !round.stop.signal.aborted) throw error;
      return { end: undefined, stoodMs: 0 };
    } finally {
      round.stop.abort();
    }
  }

  /** Has the stream end if nobody waits, and opened anew if others do; several changes are one. */
  #changed(): void {
    const round = this.#round;
    if (round === undefined) return;
    if (this.#wanted.size === 0) round.stop.abort();
    if (round.reopens || round.stop.signal.aborted || round.asked.size === 0) return;
    const { asked, stop } = round;
    const fits =
      asked.size === this.#wanted.size && [...asked].every(([id, hearer]) => this.#wanted.get(id) === hearer);
    if (fits) return;
    round.reopens = true;
    const soon = Math.max(settleMs, this.#wanted.size * reopenMsPerTask);
    const reopen = (): void => stop.abort();
    // A stream that ends before takes up the change by itself.
    this.#options.clock
      .sleep(soon, AbortSignal.any([stop.signal, this.#options.closing]))
      .then(reopen, reopen);
  }

  #unheard(): void {
    for (const hearer of this.#wanted.values()) hearer.onListened(false);
  }
}

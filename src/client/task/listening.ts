import type { ClientClock } from "../clock.ts";
import type { ListenEnd, TaskProtocol } from "../task-protocol.ts";
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

/** Takes the hearer off; `ended` says that the server has nothing more to push of the task. */
export type Leave = (ended: boolean) => void;

interface ListeningOptions {
  /** Left out, nothing is listened to. */
  readonly listen: TaskProtocol["listen"] | undefined;
  readonly clock: ClientClock;
  /** Aborts when the client closes. */
  readonly closing: AbortSignal;
  /** Takes what runs on by itself, so that closing the client can wait for it. */
  readonly run: (work: Promise<void>) => void;
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
/** Further tasks are polled alone. A Holdfast server takes 1,000; others may take fewer. */
const mostTasks = 500;
/** A stream that stood for so long has not failed when it ends. */
const steadyMs = 10_000;

/**
 * The one stream on which a client listens to all tasks that somebody waits for. It is open only while somebody does,
 * opened again for other tasks, and after a break with growing pauses. A server that refuses it is not asked again.
 */
export class Listening {
  readonly #options: ListeningOptions;
  readonly #wanted = new Map<string, Hearer>();
  #refused: boolean;
  #runs = false;
  #round: Round | undefined;

  constructor(options: ListeningOptions) {
    this.#options = options;
    this.#refused = options.listen === undefined;
  }

  join(taskId: string, hearer: Hearer): Leave {
    if (this.#refused) return () => undefined;
    this.#wanted.set(taskId, hearer);
    if (this.#runs) this.#changed();
    else this.#options.run(this.#run());
    return (ended) => {
      if (this.#wanted.get(taskId) === hearer) this.#wanted.delete(taskId);
      if (ended && this.#round?.asked.get(taskId) === hearer) this.#round.asked.delete(taskId);
      this.#changed();
    };
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    this.#runs = true;
    try {
      let failures = 0;
      for (let pause = settleMs; this.#wanted.size > 0;) {
        const { end, stoodMs } = await this.#listen(pause);
        // Ended here: to be opened for other tasks, which have had their time to come together, or because all left.
        pause = this.#round?.reopens === true ? 0 : settleMs;
        if (end === undefined) continue;
        this.#unheard();
        if (end.kind === "refused") {
          this.#refused = true;
          return;
        }
        failures = stoodMs >= steadyMs ? 1 : failures + 1;
        pause = retryDelay(failures, clock.random(), end.retryAfterMs);
      }
    } finally {
      this.#runs = false;
      this.#unheard();
      if (this.#refused) this.#wanted.clear();
    }
  }

  async #listen(pause: number): Promise<{ end: ListenEnd | undefined; stoodMs: number }> {
    const { listen, clock, closing } = this.#options;
    const round: Round = { stop: new AbortController(), asked: new Map(), reopens: false };
    this.#round = round;
    const signal = AbortSignal.any([round.stop.signal, closing]);
    let openedAt = Infinity;
    try {
      if (pause > 0) await clock.sleep(pause, signal);
      for (const [taskId, hearer] of this.#chosen()) {
        round.asked.set(taskId, hearer);
        hearer.onAsked();
      }
      const end = await listen?.(
        [...round.asked.keys()],
        {
          onOpen: (accepted) => {
            openedAt = clock.now();
            const heard = new Set(accepted);
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
      return { end, stoodMs: clock.now() - openedAt };
    } catch (error) {
      if (closing.aborted || !round.stop.signal.aborted) throw error;
      return { end: undefined, stoodMs: 0 };
    } finally {
      round.stop.abort();
    }
  }

  /** The oldest waits first: whoever is listened to stays so. */
  #chosen(): [string, Hearer][] {
    return [...this.#wanted].slice(0, mostTasks);
  }

  /** Has the stream end if nobody waits, and opened anew if others do; several changes are one. */
  #changed(): void {
    const round = this.#round;
    if (round === undefined) return;
    if (this.#wanted.size === 0) round.stop.abort();
    if (round.reopens || round.stop.signal.aborted || round.asked.size === 0) return;
    const { asked, stop } = round;
    const chosen = this.#chosen();
    const fits =
      chosen.every(([id, hearer]) => asked.get(id) === hearer) &&
      [...asked].every(([id, hearer]) => this.#wanted.get(id) === hearer);
    if (fits) return;
    round.reopens = true;
    const soon = Math.max(settleMs, chosen.length * reopenMsPerTask);
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

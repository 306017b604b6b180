import type { QueueLength } from "../../store/queue-length.ts";
import type { TaskCommandName } from "../../task/command.ts";
import type { ServerEvent } from "../events/server-event.ts";

/** What a write of the store came to: it was committed, the task refused it, or the store failed. */
export type WriteOutcome = "committed" | "refused" | "failed";

/** Measures what a server does. Durations are in milliseconds. */
export interface ServerMetrics {
  /** Counts what happens to tasks, requests and this process. */
  event(event: ServerEvent): void;
  /** A write of the store is over. */
  wrote(command: TaskCommandName, durationMs: number, outcome: WriteOutcome): void;
  /** So many commands were committed together. */
  committed(commands: number): void;
  /** A listener was sent what it had not seen of a task, so long after that was committed. */
  pushed(delayMs: number): void;
  /** Reads these whenever measurements are collected, until the returned function is called. */
  observe(readings: ServerReadings): () => void;
}

/** What stands at the moment. */
export interface ServerReadings {
  /** Slots of this process: those that handlers use, and how many there are. */
  slots(): { readonly used: number; readonly limit: number };
  /** Handlers of this process that hold tasks, by tool. */
  activeHandlers(): ReadonlyMap<string, number>;
  /** Those of them that wait, with what they hold in memory. */
  waitingHandlers(): number;
  /** Handlers that go on although their task has ended, by tool. */
  leakedHandlers(): ReadonlyMap<string, number>;
  /** How late the event loop was since this was read last; undefined where nothing has been measured yet. */
  loopDelay(): LoopDelay | undefined;
  /** The queues of the whole store; undefined where it does not say. */
  queues(): Promise<QueueReadings | undefined>;
}

/** All in milliseconds. */
export interface LoopDelay {
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

export interface QueueReadings {
  /** By tool and state, those that are not empty. */
  readonly lengths: readonly Pick<QueueLength, "tool" | "state" | "tasks">[];
  /** How long the task has been ready that has waited longest for its first or next attempt; 0 where none waits. */
  readonly oldestMs: number;
}

import type { AdminStore, QueueLength } from "../../store/admin-store.ts";
import { type TaskWait, waitsForOf } from "../../task/task-line.ts";
import { nextTurn } from "../wait-for.ts";
import type { WaitingDeliveries } from "../../store/outbox.ts";
import type { TaskCommandName } from "../../task/command.ts";
import type { ServerEvent } from "../events/server-event.ts";

/** The number of a tool's tasks that wait for the same. */
export interface WaitingTasks {
  readonly tool: string;
  readonly reason: TaskWait;
  readonly tasks: number;
}

const page = 500;

/** What the newest `most` unfinished tasks of a store wait for. */
export async function waitsIn(
  admin: Pick<AdminStore, "tasks">,
  most: number,
): Promise<readonly WaitingTasks[]> {
  const counts = new Map<string, WaitingTasks>();
  let before: string | null = null;
  for (let read = 0; read < most; read += page) {
    const tasks = await admin.tasks({ of: "open" }, before, page);
    for (const task of tasks) {
      const [{ tool }, reason] = [task, waitsForOf(task)];
      if (reason === null) continue;
      const key = `${reason} ${tool}`;
      counts.set(key, { tool, reason, tasks: (counts.get(key)?.tasks ?? 0) + 1 });
    }
    before = tasks.at(-1)?.id ?? null;
    if (tasks.length < page) break;
    await nextTurn();
  }
  return [...counts.values()];
}

/** The result of a store write: it was committed, the task refused it, or the store failed. */
export type WriteOutcome = "committed" | "refused" | "failed";

/** Measures what a server does. Durations are in milliseconds. */
export interface ServerMetrics {
  /** Counts an event of tasks, requests or this process. */
  event(event: ServerEvent): void;
  /** A store write has ended. */
  wrote(command: TaskCommandName, durationMs: number, outcome: WriteOutcome): void;
  /** This many commands were committed together. */
  committed(commands: number): void;
  /** A listener was sent a task's news, this long after it was committed. */
  pushed(delayMs: number): void;
  /** Reads these whenever measurements are collected, until the returned function is called. */
  observe(readings: ServerReadings): () => void;
}

/** Current values. */
export interface ServerReadings {
  /** Slots of this process: those in use by handlers, and the total. */
  slots(): { readonly used: number; readonly limit: number };
  /** Handlers of this process that hold tasks, by tool. */
  activeHandlers(): ReadonlyMap<string, number>;
  /** Those of them that wait and stay in memory, by tool. */
  waitingHandlers(): ReadonlyMap<string, number>;
  /** Handlers that keep running although their task has ended, by tool. */
  leakedHandlers(): ReadonlyMap<string, number>;
  /** Permits of limits that runs of this process have, by the name of the limit. */
  permits(): ReadonlyMap<string, number>;
  /** How far the database's clock is ahead of this machine's (ms); 0 if the machine's is the store's. */
  clockOffset(): number;
  /** The event loop delay since the last reading; undefined if nothing has been measured yet. */
  loopDelay(): LoopDelay | undefined;
  /** The queues of the whole store; undefined if it does not report them. */
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

/** Numbers of a quarter of an hour, which outlive the processes that counted them. */
export interface ProcessReadings {
  readonly started: number;
  /** Those that died, and the attempts that were running there. */
  readonly lost: number;
  readonly lostAttempts: number;
}

export interface QueueReadings {
  /** The non-empty queues, by tool and state. */
  readonly lengths: readonly Pick<QueueLength, "tool" | "state" | "tasks">[];
  /** How long the longest-waiting task has been ready for its first or next attempt; 0 if none waits. */
  readonly oldestMs: number;
  /** What unfinished tasks wait for. */
  readonly waits: readonly WaitingTasks[];
  /** Messages that webhooks have not accepted, and how long the oldest of those that are still tried has waited; 0 if there is none. */
  readonly webhooks: readonly (Pick<WaitingDeliveries, "hook" | "waiting" | "givenUp"> & {
    readonly oldestMs: number;
  })[];
  /** What happened to processes in the last fifteen minutes; undefined if the store keeps no reports. */
  readonly processes: ProcessReadings | undefined;
}

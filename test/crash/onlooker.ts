import { isUrl } from "../places/store-at.ts";
import type { Job } from "./job.ts";
import type { Rest } from "./needless-runs.ts";
import { PostgresOnlooker } from "./postgres-onlooker.ts";
import { SqliteOnlooker } from "./sqlite-onlooker.ts";
import type { Tried } from "./tries.ts";

/** Tasks that are not over, and tasks with an idempotency key. */
export type Counted = "unfinished" | "keyed";

/** How long tasks of SEP-1686 live, by their columns. */
export interface Life {
  readonly wireId: string;
  readonly finishedAt: number | null;
  readonly sweepAt: number | null;
  readonly runUntil: number | null;
  readonly expiryMs: number;
}

/** What is left of tasks below others, and of unfinished ones. */
export interface Leftovers {
  readonly children: number;
  readonly tasks: number;
  readonly entries: number;
  readonly unfinished: number;
  readonly waits: number;
}

/** Reads what killed servers left, and lets go of it before the next one starts. */
export interface Onlooker {
  /** What is broken, and what was acknowledged and is not there: there must be nothing. */
  problems(jobs: readonly Job[]): Promise<string[]>;
  /** When each nap is to end (epoch ms), by task. */
  napDeadlines(): Promise<Map<string, number>>;
  /** The tasks of `tries`, and how often they and their steps have failed. */
  tried(): Promise<Tried[]>;
  /** The tasks whose handlers rest, parked or not. */
  resting(): Promise<Rest[]>;
  count(what: Counted): Promise<number>;
  lives(): Promise<Life[]>;
  leftovers(): Promise<Leftovers>;
  /** Whether somebody is in the middle of a write now. */
  isBeingWritten(): Promise<boolean>;
}

export function onlookerAt(at: string): Onlooker {
  return isUrl(at) ? new PostgresOnlooker(at) : new SqliteOnlooker(at);
}

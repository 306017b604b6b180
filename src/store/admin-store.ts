import type { StoredAction, GenerationName, TaskRecord } from "../task/record.ts";
import type { OutcomeKind } from "../task/outcome.ts";
import type { CauseMark } from "../task/cause.ts";
import type { FailedTask } from "./tables/task.ts";
import type { BulkJobs } from "./bulk-jobs.ts";
import type { NodeReports } from "./node-reports.ts";
import type { QueueLength } from "./queue-length.ts";

/** How a task ended. */
export type EndedAs = OutcomeKind | "cancelled";

/** A range of tasks in an index, ordered by their ids. */
export type TaskRange =
  | { readonly of: "all" }
  /** Unfinished, of all tools. */
  | { readonly of: "open" }
  /** Unfinished, with unanswered questions. */
  | { readonly of: "asking" }
  | { readonly of: "ended"; readonly tool: string; readonly as: EndedAs }
  /** Failed, with this cause. */
  | { readonly of: "cause"; readonly cause: string }
  | { readonly of: "principal"; readonly generation: GenerationName; readonly principal: string | null }
  /** Tasks of tools that a task's handler called: those that have not ended, and those that failed or were cut off. */
  | { readonly of: "children"; readonly parent: string };

/** The reads for operators. Each uses an index, and reads no more rows than it says. */
export interface AdminStore {
  /**
   * At most `limit` tasks of a range with ids below `before` (null: from the newest), newest first. Tasks that cannot be read are left out.
   * A page with fewer than `limit` is the last.
   */
  tasks(range: TaskRange, before: string | null, limit: number): Promise<readonly TaskRecord[]>;
  /** The number of tasks in a range, at most `most`. */
  count(range: TaskRange, most: number): Promise<number>;
  /** About how many tasks of each tool there are in each state, from a sample. Left out: there are no estimates. */
  estimate?(): Promise<readonly AlikeTasks[]>;
  /** The names of tools with finished tasks, sorted. */
  endedTools(): Promise<readonly string[]>;
  /** The lengths of the tools' non-empty queues. Reads at most `most` tasks of each. */
  queues(most: number): Promise<readonly QueueLength[]>;
  /** The keys of a task's journal entries with an error, in any order, at most `limit`. */
  failedKeys(taskId: string, limit: number): Promise<readonly string[]>;
  /** Actions, newest first, of one task if `taskId` is given: at most `limit` with numbers below `before` (null: from the newest). */
  actions(taskId: string | null, before: number | null, limit: number): Promise<readonly StoredAction[]>;
  readonly bulk: BulkJobs;
  readonly causes: FailureCauses;
  /** Paused tools, whose tasks are not started, sorted by name. */
  paused(): Promise<readonly PausedTool[]>;
  /** Undefined if the store has no copy, or none that answers. A read of the copy rejects with `store_failed` when it stops answering. */
  replica?(): Promise<ReplicaReads | undefined>;
}

/** Why tasks failed, and what operators say of that. */
export interface FailureCauses {
  /** At most `limit` failed tasks with ids below `before` (null: from the newest), newest first. */
  failed(before: string | null, limit: number): Promise<readonly FailedTask[]>;
  /** The oldest task that failed with this cause; undefined if there is none, or it cannot be read. */
  first(cause: string): Promise<FailedTask | undefined>;
  /** Sorted by cause. */
  marks(): Promise<readonly CauseMark[]>;
}

/** Tasks of a tool that stand alike. */
export interface AlikeTasks extends Pick<
  TaskRecord,
  "tool" | "state" | "outcomeKind" | "lane" | "waiting" | "waitsFor"
> {
  /** 1: they have open questions. */
  readonly openInputs: number;
  /** Left out: they are not blocked. */
  readonly blocked?: object;
  /** How many they are. */
  readonly tasks: number;
}

/** Reads for lists and charts from a copy of the store, which may be behind. */
export interface ReplicaReads extends Pick<AdminStore, "tasks" | "count" | "endedTools" | "estimate"> {
  readonly between: NodeReports["between"];
  /** How far it is behind (ms). */
  readonly behindMs: number;
}

/** A tool whose tasks an operator holds back. */
export interface PausedTool {
  readonly tool: string;
  /** Epoch ms. */
  readonly since: number;
  readonly actor: string;
}

import type { BulkEnd, BulkJob, BulkTask } from "../task/bulk.ts";
import { type GenerationName, type StoredAction, taskMethods, type TaskRecord } from "../task/record.ts";
import type { HandlerName } from "../task/queue.ts";
import { columnsOf, oneOf, type Row, text } from "./row.ts";
import type { OutcomeKind } from "../task/outcome.ts";
import type { CauseMark } from "../task/cause.ts";
import type { FailedTask } from "./tables/task.ts";

/** An owner's report of one minute and of its state: JSON that only its runtime interprets. */
export interface NodeReport {
  readonly owner: string;
  /** Minutes since the epoch. */
  readonly minute: number;
  readonly body: string;
}

/** A living owner. */
export interface LivingOwner {
  readonly id: string;
  /** The number of tasks on which its handlers work: those that wait are not counted. */
  readonly running: number;
  /** By when it is to have ended what it works on (epoch ms); null: it takes new work. */
  readonly drainUntil: number | null;
}

/** Reports of a store's owners, for operators. Nothing else depends on them. */
export interface NodeReports {
  /** Stores this owner's report of a minute, replacing its earlier one, and deletes all owners' reports of minutes before `oldest`. */
  write(report: Omit<NodeReport, "owner">, oldest: number): Promise<void>;
  /** Reports of the minutes from `first` to `last`, newest minute first: at most `limit`. */
  between(first: number, last: number, limit: number): Promise<readonly NodeReport[]>;
  /** The living owners. Each count is at most `most`, and a store may read no more unfinished tasks than that, oldest first. */
  owners(most: number): Promise<readonly LivingOwner[]>;
}

/** How many tasks of a job there are, by how the action on them ended. */
export type BulkCounts = Readonly<Record<BulkEnd | "open", number>>;

/** The reads of bulk jobs. Each uses an index. */
export interface BulkJobs {
  get(id: string): Promise<BulkJob | undefined>;
  /** Started jobs that have not ended, oldest first: at most `limit`. */
  underWay(limit: number): Promise<readonly BulkJob[]>;
  /** Jobs with ids below `before` (null: from the newest), newest first: at most `limit`. */
  list(before: string | null, limit: number): Promise<readonly BulkJob[]>;
  /** The oldest jobs, at most `limit`, those among them that are no longer kept at `now`: previewed or ended long ago. */
  old(now: number, limit: number): Promise<readonly BulkJob[]>;
  /** Tasks of a job that ended so (null: that are open) behind a place, in order: at most `limit`. */
  tasks(job: string, endedAs: BulkEnd | null, after: number, limit: number): Promise<readonly BulkTask[]>;
  counts(job: string): Promise<BulkCounts>;
  /** What jobs did to a task, newest job first, each with the action that started the job: at most `limit`, with numbers below `before`. */
  on(
    taskId: string,
    before: number | null,
    limit: number,
  ): Promise<readonly (readonly [StoredAction, BulkTask])[]>;
}

const at = columnsOf(["method", "tool"]);

/** The handler of a row of `method` and `tool`. Undefined for a damaged name, which no handler has. */
export function handlerOf(row: Row): HandlerName | undefined {
  try {
    return { method: oneOf(row, at.method, taskMethods), tool: text(row, at.tool) };
  } catch {
    return undefined;
  }
}

/** The handlers of an owner as JSON text, each in one fixed form. */
export function handlersText(handlers: readonly HandlerName[]): string {
  return `[${handlers.map(handlerText).join(",")}]`;
}

/** The part of an owner's JSON text that stands for this handler. */
export function handlerText({ method, tool }: HandlerName): string {
  return JSON.stringify({ method, tool });
}

/** The handlers in an owner's JSON text. None if it is damaged: one unreadable owner must not stop the others. */
export function handlersIn(json: string): readonly HandlerName[] {
  try {
    const handlers: unknown = JSON.parse(json);
    return Array.isArray(handlers) ? handlers.filter(isHandlerName) : [];
  } catch {
    return [];
  }
}

function isHandlerName(value: unknown): value is HandlerName {
  return typeof value === "object" && value !== null && "method" in value && "tool" in value;
}

/** The number of a tool's tasks in a queue. */
export interface QueueLength {
  readonly tool: string;
  /** `ready`: they can be claimed. `parked`: they wait for a time, an answer or an event. */
  readonly state: "ready" | "parked";
  readonly tasks: number;
  /** Since when the first ready task is ready (epoch ms); null for parked ones. */
  readonly since: number | null;
}

/** One length for each tool and state. A store may have a queue for each of its owners. */
export function summedByTool(lengths: Iterable<QueueLength>): readonly QueueLength[] {
  const summed = new Map<string, QueueLength>();
  for (const length of lengths) {
    const { tool, state, tasks, since } = length;
    const key = `${state} ${tool}`;
    const before = summed.get(key);
    const first = Math.min(before?.since ?? Infinity, since ?? Infinity);
    summed.set(key, {
      tool,
      state,
      tasks: (before?.tasks ?? 0) + tasks,
      since: first === Infinity ? null : first,
    });
  }
  return [...summed.values()];
}

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
  /**
   * At most `limit` failed tasks, or those of one cause, with ids below `before` (null: from the newest), newest first. Tasks that cannot be
   * read are left out. A page with fewer than `limit` is the last.
   */
  failed(before: string | null, limit: number, cause?: string): Promise<readonly FailedTask[]>;
  /** The oldest task that failed with this cause; undefined if there is none that can be read. */
  first(cause: string): Promise<FailedTask | undefined>;
  /** All causes of failed tasks, sorted: at most `limit`. */
  names(limit: number): Promise<readonly string[]>;
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

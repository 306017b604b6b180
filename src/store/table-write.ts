import type { Action, TaskRecord, TaskRequest } from "../task/record.ts";
import type { BulkEnd, BulkJob, BulkTask } from "../task/bulk.ts";
import type { CauseMark } from "../task/cause.ts";
import type { CommandResult, Refusal } from "../task/command.ts";
import type { JournalEntry } from "../task/journal.ts";
import type { Forgotten, PieceChange } from "../task/journal-changes.ts";
import type { Outcome } from "../task/outcome.ts";
import type { TaskLine } from "../task/task-line.ts";
import type { PausedTool } from "./admin-store.ts";
import type { OutboxWrite } from "./outbox.ts";
import type { TaskChange } from "./store.ts";
import type { Usage } from "../task/queue.ts";
import type { EventFacts, EventQuery, FactsQuery, OtherFacts } from "./facts.ts";

/** How the action on a task of a bulk job ended. */
export type EndedBulkTask = Omit<BulkTask, "taskId"> & { readonly endedAs: BulkEnd };

/** One write to the tables of a store. */
export type TableWrite =
  /** The only one that can fail: if the id or wire id is taken. The command is then refused as `taken`. */
  | { readonly do: "insert"; readonly task: TaskRecord; readonly request: TaskRequest }
  /** What of the record differs from `before`, as it is stored; entries to insert or replace; and the outcome if there is one. */
  | {
      readonly do: "save";
      readonly before: TaskRecord;
      readonly task: TaskRecord;
      readonly journal: readonly JournalEntry[];
      readonly forgets?: Forgotten;
      readonly outcome: Outcome | null;
    }
  /** Adds lines to the log and the output of a task, and removes those with these numbers from its log. */
  | {
      readonly do: "append_lines";
      readonly id: string;
      readonly lines: readonly TaskLine[];
      readonly forget: readonly number[];
    }
  /** Pieces of artifacts: the first one of an artifact (`seq` 0) replaces all of them. */
  | { readonly do: "change_pieces"; readonly id: string; readonly change: PieceChange }
  /** Removes a task with everything that belongs to it. */
  | { readonly do: "remove"; readonly id: string; readonly isChild?: true }
  /** An event of a task; `taken`: a wait has already taken it, and only its `dedupeId` is kept. */
  | {
      readonly do: "keep_event";
      readonly taskId: string;
      readonly name: string;
      readonly value: string;
      readonly dedupeId: string | null;
      readonly taken: boolean;
    }
  /** The same for a kept event. */
  | { readonly do: "take_event"; readonly taskId: string; readonly seq: number }
  | { readonly do: "keep_action"; readonly action: Action }
  /** Unless the tool is already paused. */
  | { readonly do: "pause_tool"; readonly paused: PausedTool }
  | { readonly do: "resume_tool"; readonly tool: string }
  /** Replaces what was said of the cause; a mark that says nothing removes it. */
  | { readonly do: "mark_cause"; readonly mark: CauseMark }
  /** Also the number of its tasks. */
  | { readonly do: "save_bulk_job"; readonly job: BulkJob }
  | { readonly do: "add_bulk_tasks"; readonly tasks: readonly BulkTask[] }
  /** Changes nothing if the action on the task has ended. */
  | { readonly do: "end_bulk_task"; readonly task: EndedBulkTask }
  /** With its tasks. */
  | { readonly do: "delete_bulk"; readonly id: string }
  | { readonly do: "write_outbox"; readonly write: OutboxWrite }
  | { readonly do: "keep_secret"; readonly name: string; readonly value: string }
  | { readonly do: "replace_secret"; readonly name: string; readonly value: string | null }
  /**
   * The owner is lost: it may no longer write, and any owner may claim tasks queued for it. With `forgetAt` it is also forgotten, unless it
   * has running tasks left that have not reached the end of their life at that time (epoch ms).
   */
  | { readonly do: "retire_owner"; readonly owner: string; readonly forgetAt: number | null }
  | { readonly do: "drain_owner"; readonly owner: string; readonly until: number | null };

/** The effect of a command: all or nothing. */
export interface Plan {
  readonly result: CommandResult;
  readonly writes: readonly TableWrite[];
  /** For listeners, after the commit. */
  readonly changes: readonly TaskChange[];
}

export function refused(reason: Refusal): Plan {
  return { result: { ok: false, reason }, writes: [], changes: [] };
}

/** Changes a record and nothing else, like any other change: whoever watches the task is notified. */
export function changed(before: TaskRecord, after: TaskRecord): Plan {
  const task = { ...after, version: before.version + 1 };
  const { id, version } = task;
  return {
    result: { ok: true, task },
    writes: [{ do: "save", before, task, journal: [], outcome: null }],
    changes: [{ id, version }],
  };
}

/** The tables of a synchronous store, for the code that applies commands inside one transaction. */
export interface TaskTables {
  /** Throws a `HoldfastError` for a task whose record cannot be read. */
  task(id: string): TaskRecord | undefined;
  entry(id: string, key: string): JournalEntry | undefined;
  /** The unfinished tasks that a task called; unreadable ones are left out. */
  children(parent: string): readonly TaskRecord[];
  /** The ids of ended tasks below these, of which each has no parent. */
  endedBelow(roots: readonly string[]): readonly string[];
  event(taskId: string, query: EventQuery): EventFacts;
  /** A null principal is one like any other: that of callers that are not distinguished. */
  taskByIdempotencyKey(principal: string | null, key: string): TaskRecord | undefined;
  /** The number of a principal's tasks, of all generations; of all principals if undefined. */
  usage(principal?: string): Usage;
  /** Whether a living owner has a handler for the task. */
  isServed(task: TaskRecord): boolean;
  /** Whether an owner lives, or may be paused and continue. */
  lives(owner: string): boolean;
  others(query: FactsQuery, owner: string): OtherFacts;
  /** False, with nothing written, for an insert with a taken id or wire id. */
  write(write: TableWrite): boolean;
}

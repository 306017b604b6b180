import type { Action } from "../task/action.ts";
import type { CommandResult } from "../task/command-result.ts";
import type { JournalEntry } from "../task/journal.ts";
import type { Outcome } from "../task/outcome.ts";
import type { TaskRecord, TaskRequest } from "../task/record.ts";
import type { TaskLine } from "../task/task-line.ts";
import type { PausedTool } from "./admin-store.ts";
import type { OutboxWrite } from "./outbox.ts";
import type { TaskChange } from "./store.ts";

/** One write to the tables of a store. */
export type TableWrite =
  /** The only one that can fail: where the id or the wire id is taken. The command is then refused as `taken`. */
  | { readonly do: "insert"; readonly task: TaskRecord; readonly request: TaskRequest }
  /** The whole record, entries to insert or to replace, and the outcome if there is one. */
  | {
      readonly do: "save";
      readonly task: TaskRecord;
      readonly journal: readonly JournalEntry[];
      /** Entries to remove from the journal: of steps and calls with an error. */
      readonly forgets?: "failures";
      readonly outcome: Outcome | null;
    }
  /** Adds lines to the log and the output of a task, and removes those with these numbers from its log. */
  | {
      readonly do: "append_lines";
      readonly id: string;
      readonly lines: readonly TaskLine[];
      readonly forget: readonly number[];
    }
  /**
   * Removes the idempotency key of a finished task that no caller waits for any more, and deletes the task at `deleteBy` if that is not
   * null, or earlier.
   */
  | { readonly do: "release_key"; readonly id: string; readonly deleteBy: number | null }
  /** Removes a task with all that belongs to it. */
  | { readonly do: "remove"; readonly id: string; readonly isChild?: true }
  /** An event of a task; `taken`: a wait has it already, and only its `dedupeId` is kept. */
  | {
      readonly do: "keep_event";
      readonly taskId: string;
      readonly name: string;
      readonly value: string;
      readonly dedupeId: string | null;
      readonly taken: boolean;
    }
  /** The same of one that is kept. */
  | { readonly do: "take_event"; readonly taskId: string; readonly seq: number }
  | { readonly do: "keep_action"; readonly action: Action }
  /** Where the tool is not paused yet. */
  | { readonly do: "pause_tool"; readonly paused: PausedTool }
  | { readonly do: "resume_tool"; readonly tool: string }
  | { readonly do: "write_outbox"; readonly write: OutboxWrite }
  | { readonly do: "keep_secret"; readonly name: string; readonly value: string }
  /**
   * An owner that is gone may not write any more, and what it was to run may be claimed by any. With `forgetAt` it is known no
   * longer, unless running tasks of it are left that have not come to the end of their life at that time (epoch ms).
   */
  | { readonly do: "retire_owner"; readonly owner: string; readonly forgetAt: number | null };

/** What a command does: all of it, or nothing. */
export interface Plan {
  readonly result: CommandResult;
  readonly writes: readonly TableWrite[];
  /** To be told after the commit. */
  readonly changes: readonly TaskChange[];
}

import type { DeliveryCommands } from "./delivery.ts";
import type { CauseMark } from "./cause.ts";

/**
 * A bulk job: one action on many tasks, which were selected once.
 * - The tasks are frozen when the job is made; what matches its filter later is not in it.
 * - Each task is acted on once: the write that acts on it also says so in the job.
 * - Any process with the store open may go on with a started job whose process is gone.
 */

/** What `tasks.admin` does to many tasks at once. */
export type BulkAction = "cancel" | "retry" | "delete" | "extend";

export const bulkActions: Readonly<Record<BulkAction, true>> = {
  cancel: true,
  retry: true,
  delete: true,
  extend: true,
};

/** What an operator decides. */
export interface NewBulkJob {
  /** Like a task's id: time-ordered, and impossible to guess. */
  readonly id: string;
  readonly actor: string;
  readonly action: BulkAction;
  /** Plain JSON data: which tasks were selected, without the members of its own here. */
  readonly selection: Readonly<Record<string, unknown>>;
  /** The caller whose tasks were selected; null if not by caller. */
  readonly principal: string | null;
  /** What the status texts of the tasks contain; null if not by text. */
  readonly text: string | null;
  /** Plain JSON data: how to act. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly createdAt: number;
}

/** Times are epoch milliseconds. */
export interface BulkJob extends NewBulkJob {
  /** The number of its tasks. */
  readonly total: number;
  /** Null: it was only previewed. */
  readonly startedAt: number | null;
  /** When all its tasks were done, or it was cancelled. */
  readonly endedAt: number | null;
  /** The operator who cancelled it. */
  readonly cancelledBy: string | null;
  /** The process that works on it, until `heldUntil`. */
  readonly heldBy: string | null;
  readonly heldUntil: number | null;
}

/**
 * Whether a process has the job to itself. A hold that begins now lasts until `until`; one that lasts longer began before the clock was set
 * back, and its process may be gone.
 */
export function isHeld(
  { heldUntil }: Pick<BulkJob, "heldUntil">,
  { now, until }: { readonly now: number; readonly until: number },
): boolean {
  return heldUntil !== null && heldUntil > now && heldUntil <= until;
}

/** How the action on a task of a job ended: it was done, or the task refused it. */
export type BulkEnd = "done" | "refused";

export const bulkEnds: Readonly<Record<BulkEnd, true>> = { done: true, refused: true };

/** A task's place in a job. */
export interface BulkPlace {
  readonly job: string;
  /** From 0, in the order of the selection. */
  readonly place: number;
}

/** A task of a job. */
export interface BulkTask extends BulkPlace {
  readonly taskId: string;
  /** Null: it is still to be acted on. */
  readonly endedAs: BulkEnd | null;
  /** The task that was made of it. */
  readonly created: string | null;
  /** Why it was refused. */
  readonly code: string | null;
  readonly message: string | null;
}

/** Changes of bulk jobs. */
export interface BulkCommands {
  /** Makes the job, unless it exists, and adds tasks to it from the place `from` on. */
  add_bulk_tasks: { readonly job: NewBulkJob; readonly from: number; readonly taskIds: readonly string[] };
  /** Refused as `state` if it was started before. */
  start_bulk: { readonly id: string };
  /** This owner works on the started job until `until`. Refused as `awaited` while another one does, and as `finished` after its end. */
  hold_bulk: { readonly id: string; readonly until: number };
  /** Ends a started job: all its tasks are done, or an operator cancelled it. Refused as `finished` if it has ended. */
  end_bulk: { readonly id: string; readonly cancelledBy: string | null };
  /** The task refused the action. Changes nothing if the action on it has ended. */
  refuse_bulk_task: { readonly task: BulkPlace; readonly code: string; readonly message: string };
  /** Deletes the job with its tasks, unless it was started and has not ended: then refused as `state`. */
  delete_bulk: { readonly id: string };
}

/** What they answer. */
export interface BulkResults<Refused> {
  add_bulk_tasks: { readonly ok: true };
  start_bulk: { readonly ok: true; readonly job: BulkJob } | Refused;
  hold_bulk: { readonly ok: true; readonly job: BulkJob } | Refused;
  end_bulk: { readonly ok: true; readonly job: BulkJob } | Refused;
  refuse_bulk_task: { readonly ok: true };
  delete_bulk: { readonly ok: true } | Refused;
}

/** The commands that change no task. */
export type CommandBesideTasks = keyof (BulkCommands & DeliveryCommands & StartCommands);

/** What operators say of tools, processes and causes, and what they did. These commands change no task; each process learns when it renews. */
export interface StartCommands {
  /** From now on, tasks of the tool are not started; running ones continue. Changes nothing if it is already paused. */
  pause_tool: { readonly tool: string; readonly actor: string };
  resume_tool: { readonly tool: string };
  /**
   * The owner is to take nothing new, and to end what it works on by `until` (epoch ms); `null`: it goes on as before. Changes nothing if the
   * owner is gone.
   */
  drain_owner: { readonly owner: string; readonly until: number | null };
  /** Replaces what operators say of failures of a cause. */
  mark_cause: { readonly mark: CauseMark };
  /** Changes nothing: the store records the action that comes with it. */
  record_action: Readonly<Record<never, never>>;
}

/** What they answer. */
export type StartResults = { readonly [Name in keyof StartCommands]: { readonly ok: true } };

import type { Refusal } from "./command-result.ts";
import type { TaskCommand } from "./command.ts";
import { endsAt } from "./expiry.ts";
import type { TaskRecord } from "./record.ts";
import { isTerminal } from "./status.ts";
import { storable } from "./time.ts";

/**
 * Who wants the result of a task, other than by its id: the callers that know no tasks and wait for it (`awaitedBy`, the processes at
 * which they do), and whoever may come back, having been told how to (`promised`). A process that died waits for nothing.
 *
 * | the task                                  | the same call                   | when the last caller calls off | when its time is over    |
 * | ----------------------------------------- | ------------------------------- | ------------------------------ | ------------------------ |
 * | is awaited                                | is another task                 | it is cancelled                | it is, after the grace   |
 * | is awaited, and may be by several callers | joins                           | it is cancelled                | it is, after the grace   |
 * | is awaited by nobody                      | joins                           |                                |                          |
 * | is promised                               | as above                        | it goes on                     | it goes on               |
 * | has ended and is awaited                  | waits until the result arrived, | nothing                        | nothing                  |
 * |                                           | or joins if it did not          |                                |                          |
 *
 * Within a process, its own callers are told apart by whoever serves them; here, they are one.
 */
interface Callers {
  /** Owners at which callers wait, in order of their arrival. */
  readonly awaitedBy: readonly string[];
  readonly promised: boolean;
}

/** Whose callers wait besides: owners that live, other than the one that gives the command. */
type Others = readonly string[];

/** The task once a caller of `owner` waits for it: then it is not cancelled for those who left. */
export function joined(
  task: TaskRecord,
  { key, alone }: TaskCommand<"join">,
  owner: string,
  others: Others,
): TaskRecord | Refusal {
  if (key !== undefined && key !== task.idempotencyKey) return "state";
  if (others.length > 0 && (alone || isTerminal(task.state))) return "awaited";
  return unscheduled({ ...task, awaitedBy: [...others, owner] });
}

/** The task when the callers of `owner` wait no longer, or some of them. */
export function left(
  task: TaskRecord,
  { stays, promised, cancelBy }: TaskCommand<"leave">,
  owner: string,
  others: Others,
): TaskRecord {
  const awaitedBy = stays ? [...others, owner] : others;
  const now = { ...task, awaitedBy, promised: task.promised || promised };
  return cancelBy === null || isWanted(now, awaitedBy) ? now : scheduled(now, storable(cancelBy));
}

/** Whether the result is wanted, with `others` who wait for it. */
export function isWanted({ promised }: Pick<Callers, "promised">, others: Others): boolean {
  return promised || others.length > 0;
}

/** What a requestor asked for stays: then the task is cancelled in any case. */
function scheduled(task: TaskRecord, cancelBy: number | null): TaskRecord {
  if (isTerminal(task.state) || task.cancelRequestedAt !== null) return task;
  return { ...task, cancelBy, sweepAt: endsAt({ ...task, cancelBy }) };
}

function unscheduled(task: TaskRecord): TaskRecord {
  return task.cancelBy === null ? task : scheduled(task, null);
}

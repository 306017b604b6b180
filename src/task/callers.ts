import type { Refusal } from "./command-result.ts";
import type { TaskCommand } from "./command.ts";
import { endsAt } from "./expiry.ts";
import type { TaskRecord } from "./record.ts";
import { isTerminal } from "./status.ts";
import { storable } from "./time.ts";

/**
 * Who wants the result of a task, apart from requests with its id: callers without task support that wait for it (`awaitedBy`: the
 * processes where they wait), and callers that were told how to come back (`promised`). A dead process does not wait.
 *
 * | the task                                  | the same call                   | when the last caller cancels   | when its time is over    |
 * | ----------------------------------------- | ------------------------------- | ------------------------------ | ------------------------ |
 * | is awaited                                | creates another task            | it is cancelled                | it is, after the grace   |
 * | is awaited, and may be by several callers | joins                           | it is cancelled                | it is, after the grace   |
 * | is not awaited                            | joins                           |                                |                          |
 * | is promised                               | as above                        | it continues                   | it continues             |
 * | has ended and is awaited                  | waits until the result arrives, | nothing                        | nothing                  |
 * |                                           | or joins if it does not         |                                |                          |
 *
 * All callers in one process count as one here; the process tells them apart itself.
 */
interface Callers {
  /** Owners at which callers wait, in order of their arrival. */
  readonly awaitedBy: readonly string[];
  readonly promised: boolean;
}

/** Other owners where callers wait: living ones, without the command's owner. */
type Others = readonly string[];

/** The task once a caller of `owner` waits: earlier callers that left no longer cancel it. */
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

/** The task once all or some callers of `owner` have stopped waiting. */
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

/** Whether the result is wanted; callers wait at `others`. */
export function isWanted({ promised }: Pick<Callers, "promised">, others: Others): boolean {
  return promised || others.length > 0;
}

/** Changes nothing after a cancel request, which cancels the task anyway. */
function scheduled(task: TaskRecord, cancelBy: number | null): TaskRecord {
  if (isTerminal(task.state) || task.cancelRequestedAt !== null) return task;
  return { ...task, cancelBy, sweepAt: endsAt({ ...task, cancelBy }) };
}

function unscheduled(task: TaskRecord): TaskRecord {
  return task.cancelBy === null ? task : scheduled(task, null);
}

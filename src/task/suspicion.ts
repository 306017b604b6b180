/**
 * Which task a crash of its process counts against, when several were running there. Pure, and used by the plan of `reclaim` and `decide.ts`.
 * - A crash counts against at most one task, and only that one can come closer to `maxCrashes` by it.
 * - It counts against a task that nobody else could have caused it beside: the others have all made progress since they were lost last. Then
 *   the earlier crashes in a row that it shared count against it as well.
 * - Otherwise nobody is blamed, and whoever was lost twice in a row without progress is a suspect. Of these, one at a time runs in a store,
 *   beside everybody else, and a crash meanwhile counts against it alone.
 * - What was shared never counts by itself: tasks that are merely there, however often their process dies, do not fail.
 * - A suspect is cleared by progress, or by its end. What is written for all of this is written when a process is gone, or with that.
 */

import type { TaskAttempt } from "./attempts.ts";
import { type Loss, lostAlone, type Outcome } from "./outcome.ts";
import { crashPause, parkedOr, pausing, ready, type CrashBackoff } from "./queue.ts";
import type { TaskRecord } from "./record.ts";

type Crashes = Pick<TaskRecord, "crashes" | "suspicion">;

type LostTask = Pick<TaskRecord, "id" | "crashes" | "waiting"> & {
  readonly attempts: readonly TaskAttempt[];
};

/** So many crashes in a row make a suspect. */
const suspectAt = 2;

/** Whether no other suspect may run beside the task. */
export function isSuspect({ crashes }: Pick<TaskRecord, "crashes">): boolean {
  return crashes >= suspectAt;
}

/** How many of its crashes in a row count against it. */
export function blamedCrashes({ crashes, suspicion }: Crashes): number {
  return crashes - (suspicion?.shared ?? 0);
}

/** How the end of a process counts for each task that it ran. `isWhole`: these are all of them. */
export function lossesOf(tasks: readonly LostTask[], isWhole: boolean): (task: LostTask) => Loss {
  const active = tasks.filter(({ waiting }) => !waiting);
  const possible = active.filter((task) => !hasMovedSinceLoss(task));
  const suspects = active.filter(isSuspect);
  const tried = suspects.length === 1 ? suspects[0] : undefined;
  const alone = isWhole && suspects.length === 0 && possible.length === 1 ? possible[0] : undefined;
  const culprit = tried ?? alone;
  const blame = tried === undefined ? "alone" : "tried";
  return (task) => ({
    blame: task.id === culprit?.id ? blame : "none",
    others: active.length - (task.waiting ? 0 : 1),
  });
}

/** It was lost before, and has made progress since: so it is not what ends the process each time. */
function hasMovedSinceLoss({ crashes, attempts }: LostTask): boolean {
  return crashes === 0 && attempts.at(-2)?.end === "lost";
}

/** The task after its process is gone while its handler worked. */
export function crashed(task: Crashes, { blame }: Loss, now: number): Crashes {
  const open = task.crashes === 0 ? undefined : task.suspicion;
  const crashes = task.crashes + 1;
  if (open === undefined && blame === "alone") return { ...task, crashes };
  const before = open?.shared ?? 0;
  const shared = { none: before + 1, tried: before, alone: 0 }[blame];
  const since = isSuspect({ crashes }) ? (open?.since ?? now) : null;
  return { ...task, crashes, suspicion: { shared, since, clearedAt: null } };
}

/** The task after a command that changed `before` to it. One that made progress, or came to its end, is cleared. */
export function clearedBy(
  before: TaskRecord,
  task: TaskRecord,
  outcome: Outcome | null,
  now: number,
): TaskRecord {
  const { suspicion, ...others } = task;
  if (suspicion === undefined || before.crashes === 0) return task;
  const hasEnded = outcome !== null && outcome.kind !== "error";
  if (task.crashes > 0 && !hasEnded) return task;
  if (suspicion.since === null) return others;
  return { ...task, suspicion: { ...suspicion, shared: 0, clearedAt: now } };
}

/** One suspect at a time is claimed, whatever made it claimable. */
export function inOwnLane(task: TaskRecord): TaskRecord {
  return task.lane === "recovered" && isSuspect(task) ? { ...task, lane: "suspect" } : task;
}

/** A queued task again, whose process is gone. One that is given up does not run again, so it waits for nobody. */
export function reclaimed(
  task: TaskRecord,
  {
    now,
    backoff,
    loss = lostAlone,
  }: { readonly now: number; readonly backoff: CrashBackoff; readonly loss?: Loss },
): TaskRecord {
  const lost = task.waiting ? task : { ...task, ...crashed(task, loss, now) };
  const isGivenUp = blamedCrashes(lost) >= backoff.maxCrashes;
  const pause = isGivenUp ? 0 : crashPause(lost.crashes, backoff);
  const otherwise = pause === 0 ? ready("recovered", now) : pausing(now + pause);
  const free = { ...lost, ...parkedOr(task, otherwise), token: null };
  return isGivenUp ? free : inOwnLane(free);
}

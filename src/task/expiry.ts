/**
 * How long a task lives: its end of life, the ttl that clients see, and `extend`.
 * - A ttl that a client has seen never shrinks, and a task is not deleted before it.
 * - A task ends at its expiry or at the limit of its run, whichever applies.
 */

import { blockedText } from "./blocked.ts";
import { isTerminal, type TaskState } from "./outcome.ts";
import { storable, latestTime } from "./time.ts";
import { type Expiry, generations, type TaskRecord } from "./record.ts";

/** An expiry as stored: a duration too long for an exact number becomes the longest one. */
export function storableExpiry({ from, ms }: Expiry): Expiry {
  return { from, ms: ms === null ? null : storable(ms) };
}

/**
 * When an unfinished task reaches its end of life (epoch ms). If its expiry sets no such time, because it has no end or counts from the
 * task's end, `runUntil` does.
 */
export function expiresAt(expiry: Expiry, createdAt: number, runUntil: number | null): number | null {
  return expiry.from === "created" && expiry.ms !== null ? storable(createdAt + expiry.ms) : runUntil;
}

/** When an unfinished task ends at the latest (epoch ms): its life is over, or its caller left and did not come back. */
export function endsAt({ expiry, createdAt, runUntil, cancelBy }: Life): number | null {
  const end = expiresAt(expiry, createdAt, runUntil);
  return end === null || cancelBy === null ? (end ?? cancelBy) : Math.min(end, cancelBy);
}

interface Life {
  readonly expiry: Expiry;
  readonly createdAt: number;
  readonly runUntil: number | null;
  readonly cancelBy: number | null;
}

/** Whether a finished task's time is over: from then on, only the sweeper sees it. */
export function isOver(task: Due, now: number): boolean {
  return isTerminal(task.state) && isDue(task, now);
}

interface Due {
  readonly state: TaskState;
  readonly sweepAt: number | null;
}

function isDue({ sweepAt }: Due, now: number): boolean {
  return sweepAt !== null && sweepAt <= now;
}

interface GrowingTtl {
  /** From creation, in ms. */
  readonly ttlMs: number;
  /** When it last grew (epoch ms). */
  readonly since: number;
}

/**
 * The ttl that clients see of an unfinished task that is kept from its end, which is not known yet. It starts at the time for which the
 * task is kept, and grows by that amount whenever less than half of it is left, up to `runUntil`. Undefined if it does not grow. It depends
 * only on the record and the time, and never shrinks unless the clock goes back before the last change of the task.
 */
function growingTtl(task: TaskRecord, now: number): GrowingTtl | undefined {
  const { generation, expiry, createdAt, updatedAt, runUntil } = task;
  if (!generations[generation].showsTtl || expiry.from === "created" || expiry.ms === null) return undefined;
  const step = Math.min(Math.max(expiry.ms, 1), latestTime - createdAt);
  const longest = Math.max(step, (runUntil ?? latestTime) - createdAt);
  const age = Math.max(now, updatedAt, createdAt) - createdAt;
  const steps = Math.min(Math.max(1, Math.ceil(age / step + 0.5)), Math.ceil(longest / step));
  const since = steps === 1 ? 0 : Math.floor((steps - 1.5) * step) + 1;
  return { ttlMs: Math.min(steps * step, longest), since: createdAt + since };
}

/**
 * The task as its clients see it at `now`. A blocked one says so, instead of what its handler said. If they see a ttl from creation, its expiry counts from there, and the last growth of the ttl
 * counts as a change of the task.
 */
export function shownTask(record: TaskRecord, now: number): TaskRecord {
  const task = record.blocked === undefined ? record : { ...record, statusMessage: blockedText };
  const growing = growingTtl(task, now);
  if (growing === undefined) return task;
  const { createdAt, updatedAt, finishedAt, sweepAt } = task;
  if (finishedAt !== null) {
    return { ...task, expiry: { from: "created", ms: sweepAt === null ? null : sweepAt - createdAt } };
  }
  const { ttlMs, since } = growing;
  return { ...task, expiry: { from: "created", ms: ttlMs }, updatedAt: Math.max(updatedAt, since) };
}

/**
 * For how many ms the task is kept, counted from its creation or from its end; null: for ever. Where its expiry counts from the other, an
 * unfinished task is taken to end with its last change: it is kept at least as long.
 */
export function keptFrom(from: Expiry["from"], task: TaskRecord): number | null {
  const { expiry, createdAt, finishedAt, updatedAt } = task;
  if (expiry.ms === null || expiry.from === from) return expiry.ms;
  const age = (finishedAt ?? updatedAt) - createdAt;
  return Math.max(0, from === "created" ? age + expiry.ms : expiry.ms - age);
}

/** When a task that ends at `finishedAt` may be deleted (epoch ms): not before the ttl that its clients have seen. Null: it is kept. */
export function deletableAt(task: TaskRecord, finishedAt: number): number | null {
  const { expiry, createdAt } = task;
  if (expiry.ms === null) return null;
  if (expiry.from === "created") return storable(createdAt + expiry.ms);
  const keptUntil = finishedAt + expiry.ms;
  const seen = growingTtl(task, finishedAt);
  return storable(seen === undefined ? keptUntil : Math.max(keptUntil, createdAt + seen.ttlMs));
}

/**
 * The record of a task that is kept until `until` (epoch ms), and may run as long if it has not ended; `null`: no end. What clients see of
 * a finished task never changes: it is only deleted later.
 */
export function extended(task: TaskRecord, until: number | null): TaskRecord {
  const end = until === null ? null : storable(until);
  if (isTerminal(task.state)) return { ...task, sweepAt: end };
  const { expiry, createdAt } = task;
  if (expiry.from === "terminal") return withEnd({ ...task, runUntil: end });
  const ms = end === null ? null : Math.max(0, end - createdAt);
  return withEnd({ ...task, expiry: { ...expiry, ms }, runUntil: end === null ? null : task.runUntil });
}

function withEnd(task: TaskRecord): TaskRecord {
  return { ...task, sweepAt: endsAt(task) };
}

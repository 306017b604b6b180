import { generations } from "./generations.ts";
import type { TaskRecord } from "./record.ts";
import { latestTime, storable } from "./time.ts";

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
 * The task as its clients see it at `now`. If they see a ttl from creation, its expiry counts from there, and the last growth of the ttl
 * counts as a change of the task.
 */
export function shownTask(task: TaskRecord, now: number): TaskRecord {
  const growing = growingTtl(task, now);
  if (growing === undefined) return task;
  const { createdAt, updatedAt, finishedAt, sweepAt } = task;
  if (finishedAt !== null) {
    return { ...task, expiry: { from: "created", ms: sweepAt === null ? null : sweepAt - createdAt } };
  }
  const { ttlMs, since } = growing;
  return { ...task, expiry: { from: "created", ms: ttlMs }, updatedAt: Math.max(updatedAt, since) };
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

import type { RemoteTask } from "./remote-task.ts";

/** The interval if the server names none. */
const defaultPollMs = 1000;
const minFallbackMs = 15_000;
const maxFallbackMs = 60_000;
const firstRetryMs = 250;
const maxRetryMs = 15_000;

/** Milliseconds between polls: the server's interval, but at least `floorMs`. */
export function pollInterval(task: RemoteTask, floorMs: number): number {
  return Math.max(task.pollIntervalMs ?? defaultPollMs, floorMs);
}

/**
 * Milliseconds until the next poll: the server's interval, but at least `floorMs`, and up to a tenth later,
 * so that the clients of a restarted server do not poll in step.
 */
export function pollDelay(task: RemoteTask, floorMs: number, random: number): number {
  return withJitter(pollInterval(task, floorMs), random);
}

/**
 * Milliseconds until the next poll of a task whose changes are pushed, so that polls only find missed pushes: four
 * intervals, but at least 15 seconds, and at most a minute unless the server's interval is longer.
 */
export function fallbackDelay(task: RemoteTask, floorMs: number, random: number): number {
  const interval = pollInterval(task, floorMs);
  const seldom = Math.min(Math.max(4 * interval, minFallbackMs), maxFallbackMs);
  return withJitter(Math.max(seldom, interval), random);
}

/** Up to a tenth longer. */
export function withJitter(ms: number, random: number): number {
  return Math.round(ms * (1 + random / 10));
}

/**
 * Milliseconds until the next try after `failures` failures in a row (1 for the first): exponential with jitter,
 * but at least the server's Retry-After, plus up to a tenth, since many clients get the same one.
 */
export function retryDelay(failures: number, random: number, retryAfterMs = 0): number {
  const full = Math.min(firstRetryMs * 2 ** (failures - 1), maxRetryMs);
  return Math.max(Math.round(full * (0.5 + random / 2)), withJitter(retryAfterMs, random));
}

/**
 * When a task that was last reported at `contactAt` has certainly expired, by the same clock; `Infinity` without a
 * ttl. Uses only differences of the server's timestamps, so a wrong clock on either side never ends a wait early.
 * It can end late by the time between the task's last change and the last contact.
 */
export function expiryTime(task: RemoteTask, contactAt: number): number {
  if (task.ttlMs === null) return Infinity;
  const knownAge = Date.parse(task.lastUpdatedAt) - Date.parse(task.createdAt);
  return contactAt + task.ttlMs - (Number.isFinite(knownAge) ? Math.max(knownAge, 0) : 0);
}

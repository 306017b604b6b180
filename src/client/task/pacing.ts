import type { RemoteTask } from "./remote-task.ts";

/** What a server that names no interval is polled at. */
const defaultPollMs = 1000;
const leastSafetyMs = 15_000;
const mostSafetyMs = 60_000;
const firstRetryMs = 250;
const longestRetryMs = 15_000;

/** Milliseconds between polls: what the server asked for, and never less than our own floor. */
export function pollInterval(task: RemoteTask, floorMs: number): number {
  return Math.max(task.pollIntervalMs ?? defaultPollMs, floorMs);
}

/**
 * Milliseconds until the next poll: never sooner than the server asked for nor than our own floor, and up
 * to a tenth later, so that the waiters of a restarted server do not come back in step.
 */
export function pollDelay(task: RemoteTask, floorMs: number, random: number): number {
  return jittered(pollInterval(task, floorMs), random);
}

/**
 * Milliseconds until the next poll of a task that is listened to, where polls only find what a push has missed: four
 * intervals, but at least 15 seconds, and no more than a minute unless the server asked for more.
 */
export function safetyDelay(task: RemoteTask, floorMs: number, random: number): number {
  const interval = pollInterval(task, floorMs);
  const seldom = Math.min(Math.max(4 * interval, leastSafetyMs), mostSafetyMs);
  return jittered(Math.max(seldom, interval), random);
}

/** Up to a tenth longer. */
export function jittered(ms: number, random: number): number {
  return Math.round(ms * (1 + random / 10));
}

/**
 * Milliseconds until the next try after `failures` failures in a row (1 for the first): doubling, between half and
 * all of it, and never sooner than the server's Retry-After, which many are told at once: up to a tenth later.
 */
export function retryDelay(failures: number, random: number, retryAfterMs = 0): number {
  const full = Math.min(firstRetryMs * 2 ** (failures - 1), longestRetryMs);
  return Math.max(Math.round(full * (0.5 + random / 2)), jittered(retryAfterMs, random));
}

/**
 * When a task that was last heard of at `contactAt` has surely outlived its ttl, by the time that has elapsed here;
 * `Infinity` for a task that has none. Only differences of the server's own times are used, so a wrong clock on either
 * side never ends a wait early; it can end late by as much as the task was quiet before the last contact.
 */
export function endOfLife(task: RemoteTask, contactAt: number): number {
  if (task.ttlMs === null) return Infinity;
  const knownAge = Date.parse(task.lastUpdatedAt) - Date.parse(task.createdAt);
  return contactAt + task.ttlMs - (Number.isFinite(knownAge) ? Math.max(knownAge, 0) : 0);
}

import type { Job, Touch } from "./job.ts";
import type { LogLine } from "./log.ts";
import type { Span } from "./pace.ts";

/** Of the servers. */
export const cancelGraceMs = 2_000;
/** Where the machine is not slow, a handler is told sooner. */
const patienceMs = 1_500;

interface Cancelled {
  readonly task: string;
  readonly cancel: Touch;
  /** By a client of 2025-11-25. */
  readonly core: boolean;
  readonly endedAt: number;
}

/** A process that serves. */
interface Life extends Span {
  readonly pid: number;
  readonly url: string;
  readonly works: boolean;
  /** When it was stopped, until it went on or was killed. */
  readonly stops: Span[];
}

/** Cancels of which a handler had to hear. */
export interface ToldCancels {
  /** How many of them there were. */
  readonly checked: number;
  /** Those of which it did not: there must be none. */
  readonly missed: readonly string[];
}

/**
 * Handlers that have started something elsewhere are told of a cancel that was acknowledged, where a process lived on that could tell them, and
 * had the time for it (`mayBeLate`).
 */
export function toldCancels(
  jobs: readonly Job[],
  lines: readonly LogLine[],
  mayBeLate: (span: Span) => boolean = () => false,
): ToldCancels {
  const lives = livesOf(lines);
  const due = jobs.flatMap((job) => {
    const cancelled = cancelledOf(job);
    if (cancelled === undefined) return [];
    const own = lines.filter(({ task }) => task === cancelled.task);
    const { since, until } = cancelled.cancel;
    if (mayBeLate({ since, until: Math.max(until, cancelled.endedAt) + patienceMs })) return [];
    const isDue = cancelled.core ? isToldAtOnce : isToldInGrace;
    return hadHired(own, cancelled) && isDue(cancelled, lives, own) ? [{ ...cancelled, own }] : [];
  });
  const missed = due
    .filter(({ own }) => !own.some(({ event }) => event === "told"))
    .map(
      ({ task, cancel, core, endedAt, own }) =>
        `the handler of ${task} was not told of its cancel at ${cancel.since}, by ${cancel.url}${core ? " in 2025-11-25" : ""}, with which it ended at ${endedAt}: ` +
        own.map(({ event, key, pid, at }) => `${event} ${key} in ${pid} at ${at}`).join(", "),
    );
  return { checked: due.length, missed };
}

function cancelledOf({ tool, taskId, cancel, cancelSentAt, core, ended }: Job): Cancelled | undefined {
  if (tool !== "hires" || taskId === undefined || cancel === undefined || ended === undefined)
    return undefined;
  const { status, lastUpdatedAt } = JSON.parse(ended) as { status: string; lastUpdatedAt: string };
  return status === "cancelled"
    ? {
        task: taskId,
        cancel: { ...cancel, since: cancelSentAt ?? cancel.since },
        core,
        endedAt: Date.parse(lastUpdatedAt),
      }
    : undefined;
}

/** Whether there was something to stop, and the handler did not come to its end. */
function hadHired(own: readonly LogLine[], { cancel }: Cancelled): boolean {
  const kept = own.filter(({ event }) => event === "kept");
  return (
    kept.some(({ key, at }) => key === "hired" && at < cancel.since) &&
    !kept.some(({ key }) => key === "after")
  );
}

/**
 * The task ends before the grace is over where its handler has thrown, for which it was told. Otherwise it was told if a process that
 * runs handlers was there all the time, and nobody was stopped, who could have held the task.
 */
function isToldInGrace({ cancel, endedAt }: Cancelled, lives: readonly Life[]): boolean {
  if (endedAt < cancel.since + cancelGraceMs) return true;
  const window = { since: cancel.since, until: cancel.until + cancelGraceMs + patienceMs };
  return (
    lives.some((life) => life.works && covers(life, window)) &&
    !lives.some(({ stops }) => stops.some((stop) => overlaps(stop, window)))
  );
}

/** The task has ended with the cancel: the process that took that tells its handler, or the one that runs it. */
function isToldAtOnce({ cancel }: Cancelled, lives: readonly Life[], own: readonly LogLine[]): boolean {
  const window = { since: cancel.since, until: cancel.until + patienceMs };
  const ran = new Set(own.map(({ pid }) => pid));
  // A port can be given again.
  const took = lives.findLast(({ url, since }) => url === cancel.url && since <= cancel.since);
  const isUndisturbed = (life: Life): boolean =>
    !overlaps({ since: life.until, until: life.until }, window) &&
    !life.stops.some((stop) => overlaps(stop, window));
  return (
    took?.works === true &&
    lives.every((life) => (life !== took && !ran.has(life.pid)) || isUndisturbed(life))
  );
}

function covers(whole: Span, part: Span): boolean {
  return whole.since <= part.since && whole.until >= part.until;
}

export function overlaps(one: Span, other: Span): boolean {
  return one.since <= other.until && one.until >= other.since;
}

function livesOf(lines: readonly LogLine[]): Life[] {
  const lives = new Map<number, Life>();
  for (const { pid, event, key, value, at } of lines) {
    if (event === "serves") {
      const works = value.includes("work");
      lives.set(pid, { pid, url: key, works, since: at, until: Number.POSITIVE_INFINITY, stops: [] });
    }
    const life = lives.get(pid);
    if (life === undefined) continue;
    const last = life.stops.at(-1);
    if (event === "stopped") life.stops.push({ since: at, until: Number.POSITIVE_INFINITY });
    else if ((event === "continued" || event === "killed") && last?.until === Number.POSITIVE_INFINITY)
      life.stops.splice(-1, 1, { ...last, until: at });
    if (event === "killed" && life.until > at) lives.set(pid, { ...life, until: at });
  }
  return [...lives.values()];
}

import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import { wrongHistories } from "../histories/linearizable.ts";
import type { Place } from "../places/place.ts";
import { Fleet } from "./fleet.ts";
import { expectHonestEnd } from "./honest-end.ts";
import type { Job } from "./job.ts";
import { readLog, repeatedSteps, runsOf } from "./log.ts";
import { wrongNaps } from "./naps.ts";
import { Rests } from "./needless-runs.ts";
import { onlookerAt, type Onlooker } from "./onlooker.ts";
import { overlappingAttempts } from "./overlaps.ts";
import { Pace, type Span } from "./pace.ts";
import { longestStandstillMs } from "./standstills.ts";
import { overlaps, toldCancels } from "./told-cancels.ts";
import { wrongTries } from "./tries.ts";
import type { VictimOptions } from "./victim.ts";
import { Work } from "./work.ts";

/** What is lost is found by a look at everything, once a minute: nothing is to need that, unless the machine is slow. */
const patienceAtEndMs = 50_000;
/** Clients give up on a process that says nothing, and go to another: soon while processes are stopped, and later once all of them work. */
const patienceMs = { amidBlows: 500, atEnd: 5_000 };
/** What is said while a process that is stopped in a commit keeps the others from writing, and by one that is about to end. */
const refusals =
  /The task store is not answering|The server (is stopping|stops|stopped before it could answer)/;

/** What a process may report that others considered dead meanwhile. */
const afterOutage = /"code":"(store_lost|fenced)"/;

export interface ManyOwners {
  /** For the log of what processes do. */
  readonly folder: string;
  readonly place: Place;
  /** How many processes; a third one only serves. */
  readonly size: number;
  readonly random: () => number;
  /** How many times a process is killed, stopped, or ended. */
  readonly blows: number;
  /** Now and then, what all of them need is lost for a while, and comes back. */
  readonly outage?: () => Promise<void>;
}

/** What was compared. */
export interface Kept {
  readonly tasks: number;
  /** Requests with their answers. */
  readonly requests: number;
}

/** Processes that share a place are killed and stopped while clients work with all of them; then everything ends, and nothing that anyone was told is untrue. */
export async function expectKept({
  folder,
  place: at,
  size,
  random,
  blows,
  outage,
}: ManyOwners): Promise<Kept> {
  const logFile = join(folder, "log");
  const onlooker = onlookerAt(at.at);
  const rests = new Rests();
  const work = new Work(random, ({ message }) => fleet.isDisturbed && refusals.test(message));
  const optionsOf = (member: number): VictimOptions => ({
    place: at,
    logFile,
    busyTimeoutMs: 300,
    onlyServes: member === 2,
    maxParkedFrames: Math.floor(random() * 3),
  });
  let clientPatienceMs = patienceMs.amidBlows;
  using pace = new Pace();
  const outages: Span[] = [];
  const mayBeLate = (span: Span): boolean =>
    pace.wasSlow(span) || outages.some((each) => overlaps(each, span));
  await using fleet = new Fleet(size, optionsOf, (url) => work.serverAt(url, () => clientPatienceMs), pace);
  await Promise.all(Array.from({ length: size }, (_, place) => fleet.start(place)));

  const over = new AbortController();
  using ending = new DisposableStack();
  ending.defer(() => over.abort());
  const complaints = (): string[] =>
    fleet.complaints.filter((said) => outage === undefined || !afterOutage.test(said));
  const driven: Promise<void>[] = [];
  const add = (longNaps: boolean): void => {
    for (const job of work.add(longNaps, 24))
      driven.push(driveAnywhere(job, work, fleet, random, over.signal));
  };
  const underWay = new Map<number, Promise<void>>();
  for (let blow = 0; blow < blows; blow++) {
    add(blows > 50 && blow < blows / 3);
    await pause(random() * 200);
    if (outage !== undefined && random() < 0.1) {
      await Promise.all(underWay.values());
      const since = Date.now();
      await fleet.during(async () => {
        await outage();
        while (!(await fleet.isReady())) await pause(50);
      });
      outages.push({ since, until: Date.now() });
    }
    // Mostly one is spared, so that the others' work goes on meanwhile.
    const atOnce = random() < 0.8 ? size - 1 : size;
    while (underWay.size >= atOnce) await Promise.race(underWay.values());
    const free = Array.from({ length: size }, (_, place) => place).filter((place) => !underWay.has(place));
    const place = free[Math.floor(random() * free.length)] ?? 0;
    underWay.set(
      place,
      strike(fleet, place, random, onlooker)
        .catch((error: unknown) => void fleet.complaints.push(String(error)))
        .finally(() => underWay.delete(place)),
    );
    rests.add(await onlooker.resting());
    if (blow % 8 === 7) expect(await onlooker.problems(work.jobs)).toEqual([]);
    expect([...complaints(), ...work.violations]).toEqual([]);
  }
  await Promise.all(underWay.values());

  // Nobody strikes any more: everything has to come to its end, also what no client knows of.
  clientPatienceMs = patienceMs.atEnd;
  add(false);
  const endPatience = pace.after(patienceAtEndMs, () => over.abort());
  await Promise.all(driven);
  const unfinished = (): Promise<number> => onlooker.count("unfinished");
  while ((await unfinished()) > 0 && !over.signal.aborted) await pause(20);
  endPatience();
  expect([...complaints(), ...work.violations]).toEqual([]);
  expect(work.open).toEqual([]);
  expect(await unfinished()).toBe(0);

  await pace.pause(patienceMs.amidBlows); // handlers may hear of a cancel after their tasks have ended

  const lines = readLog(logFile);
  expect(rests.needlessRuns(lines, work.jobs)).toEqual([]);
  expect(toldCancels(work.jobs, lines, mayBeLate).missed).toEqual([]);
  expect(overlappingAttempts(lines, longestStandstillMs(at.at))).toEqual([]);
  expect(repeatedSteps(lines)).toEqual([]);
  expect(wrongNaps(lines, await onlooker.napDeadlines(), mayBeLate)).toEqual([]);
  expect(wrongTries(await onlooker.tried(), lines)).toEqual([]);
  const runsOfOnce = runsOf(lines, "whole");
  expect(runsOfOnce).toEqual([...new Set(runsOfOnce)]);
  for (const job of work.jobs) expectHonestEnd(job, lines);

  const tasks = work.jobs.filter(({ taskId }) => taskId !== undefined);
  for (const { url } of fleet.members) {
    const server = work.serverAt(url);
    const shown = await Promise.all(tasks.map((job) => work.endAt(server, job)));
    expect(shown).toEqual(tasks.map(({ ended }) => ended));
  }
  expect(wrongHistories(work.history.operations)).toEqual([]);
  expect(await onlooker.problems(work.jobs)).toEqual([]);
  // No lost answer, and no call that came to two processes, has made a second task.
  expect(await onlooker.count("keyed")).toBe(work.jobs.filter(({ key }) => key).length);
  return { tasks: tasks.length, requests: work.history.operations.length };
}

/** Kills or stops one process, or lets it end; afterwards one serves in its place again. */
async function strike(fleet: Fleet, place: number, random: () => number, onlooker: Onlooker): Promise<void> {
  const inWrite = random() < 0.6 ? (): Promise<boolean> => onlooker.isBeingWritten() : undefined;
  const blow = random();
  if (blow < 0.4) await fleet.kill(place);
  else if (blow < 0.9) await fleet.stop(place, 30 + random() * 1_200, random() < 0.3, inWrite);
  else await fleet.retire(place);
  if (fleet.serves(place)) return;
  await pause(random() * 300);
  if (random() < 0.15) await fleet.startInVain(place, random() * 400);
  await fleet.start(place);
}

/** Drives a job a little at one process, then at another, until it has ended; what one shows then, all show. */
async function driveAnywhere(
  job: Job,
  work: Work,
  fleet: Fleet,
  random: () => number,
  over: AbortSignal,
): Promise<void> {
  while (!over.aborted) {
    const member = fleet.members[Math.floor(random() * fleet.members.length)];
    if (member === undefined) {
      await pause(20);
      continue;
    }
    const leg = AbortSignal.any([over, member.gone, AbortSignal.timeout(Math.floor(random() * 150))]);
    await work.driveJob(job, member.server, leg);
    if (job.ended === undefined) {
      await pause(5);
      continue;
    }
    if (job.taskId === undefined) return; // it was answered directly
    const other = fleet.members[Math.floor(random() * fleet.members.length)];
    const shown =
      other === undefined ? undefined : await work.endAt(other.server, job).catch(() => undefined);
    if (shown !== undefined && shown !== job.ended)
      work.violations.push(`${job.taskId} ended as ${job.ended}, and elsewhere as ${shown}`);
    return;
  }
}

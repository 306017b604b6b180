import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { fullForm } from "../full-form.ts";
import { wrongHistories } from "../histories/linearizable.ts";
import { newPlace } from "../places/place.ts";
import { expectHonestEnd } from "./honest-end.ts";
import { readLog, repeatedSteps, runsOf } from "./log.ts";
import { wrongNaps } from "./naps.ts";
import { Rests } from "./needless-runs.ts";
import { onlookerAt, type Onlooker } from "./onlooker.ts";
import { overlappingAttempts } from "./overlaps.ts";
import { seededRandom } from "./random.ts";
import { toldCancels } from "./told-cancels.ts";
import { wrongTries } from "./tries.ts";
import { Victim } from "./victim.ts";
import { Work, type Server } from "./work.ts";

const kills = Number(process.env["CRASH_KILLS"] ?? (fullForm ? 300 : 5));
const seed = Number(process.env["CRASH_SEED"] ?? Math.floor(Math.random() * 1e9));
/** For a slow machine; a run takes a fraction of it. */
/** What is lost is found by a look at everything, once a minute: nothing is to need that. */
const patienceAtEndMs = 50_000;
const limitMs = 180_000 + kills * 9_000;

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-crash-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it(`keeps every promise through ${kills} kills (CRASH_SEED=${seed})`, { timeout: limitMs }, async () => {
  const random = seededRandom(seed);
  const logFile = join(folder, "log");
  const place = await newPlace(folder);
  onTestFinished(() => place.remove());
  const onlooker = onlookerAt(place.at);
  const work = new Work(random);
  const rests = new Rests();
  const start = (): Victim => new Victim({ place, logFile, maxParkedFrames: Math.floor(random() * 3) });

  for (let kill = 0; kill < kills; kill++) {
    work.add(kill < kills / 3);
    const victim = start();
    // Some die while they start and recover, most while they work.
    if (random() < 0.15) {
      await pause(random() * 400);
      await victim.kill();
    } else {
      await workUntilKilled(victim, work, random);
    }
    expect(victim.stderr).toBe("");
    rests.add(await onlooker.resting());
    expect([...(await onlooker.problems(work.jobs)), ...work.violations]).toEqual([]);
  }

  work.add(false);
  await finish(start(), work, onlooker);
  expect(work.violations).toEqual([]);
  expect(work.open).toEqual([]);

  const lines = readLog(logFile);
  expect(overlappingAttempts(lines)).toEqual([]);
  expect(rests.needlessRuns(lines, work.jobs)).toEqual([]);
  expect(toldCancels(work.jobs, lines).missed).toEqual([]);
  expect(repeatedSteps(lines)).toEqual([]);
  expect(wrongNaps(lines, await onlooker.napDeadlines())).toEqual([]);
  expect(wrongTries(await onlooker.tried(), lines)).toEqual([]);
  const runsOfOnce = runsOf(lines, "whole");
  expect(runsOfOnce).toEqual([...new Set(runsOfOnce)]);
  for (const job of work.jobs) expectHonestEnd(job, lines);

  await expectSameAfterRestart(start(), work);
  expect(wrongHistories(work.history.operations)).toEqual([]);
  expect(await onlooker.problems(work.jobs)).toEqual([]);
  // No lost answer has made a second task.
  expect(await onlooker.count("keyed")).toBe(work.jobs.filter(({ key }) => key).length);
});

async function serverOf(victim: Victim, work: Work): Promise<Server> {
  const url = await victim.ready();
  if (url === undefined) throw new Error(`The server did not start: ${victim.stderr}`);
  return work.serverAt(url);
}

async function workUntilKilled(victim: Victim, work: Work, random: () => number): Promise<void> {
  const server = await serverOf(victim, work);
  const dead = new AbortController();
  const driving = work.drive(server, dead.signal);
  await pause(random() * 160);
  // A session that is gone takes nothing with it.
  if (random() < 0.3) await server.core.leave();
  await pause(random() * 160);
  // Some live until what waits goes on by itself, and cancels are over.
  if (random() < 0.05) await pause(4_000);
  await victim.kill();
  dead.abort();
  await driving;
}

/** Nobody kills any more: everything has to come to its end, also what no client knows of. */
async function finish(victim: Victim, work: Work, onlooker: Onlooker): Promise<void> {
  const patience = AbortSignal.timeout(patienceAtEndMs);
  await work.drive(await serverOf(victim, work), patience);
  const unfinished = (): Promise<number> => onlooker.count("unfinished");
  while ((await unfinished()) > 0 && !patience.aborted) await pause(20);
  expect(await unfinished()).toBe(0);
  await pause(1_000); // handlers may hear of a cancel after their tasks have ended
  await victim.kill();
}

async function expectSameAfterRestart(victim: Victim, work: Work): Promise<void> {
  const server = await serverOf(victim, work);
  const tasks = work.jobs.filter(({ taskId }) => taskId !== undefined);
  const again = await Promise.all(tasks.map((job) => work.endAt(server, job)));
  expect(again).toEqual(tasks.map(({ ended }) => ended));
  await victim.kill();
}

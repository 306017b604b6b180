import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { fullForm } from "../full-form.ts";
import { runMain } from "../cli/run-main.ts";
import { newPlace } from "../places/place.ts";
import { Fleet } from "./fleet.ts";
import { expectHonestEnd } from "./honest-end.ts";
import { readLog, repeatedSteps, runsOf, type LogLine } from "./log.ts";
import { onlookerAt } from "./onlooker.ts";
import { overlappingAttempts } from "./overlaps.ts";
import { seededRandom } from "./random.ts";
import type { VictimOptions } from "./victim.ts";
import { Work } from "./work.ts";

const dumps = fullForm ? 10 : 1;
const seed = Number(process.env["CRASH_SEED"] ?? Math.floor(Math.random() * 1e9));
const patienceMs = 90_000;
const members = 2;

it.for(Array.from({ length: dumps }, (_, index) => seed + index))(
  "keeps in a dump what was promised before it, while two processes work (CRASH_SEED=%i)",
  { timeout: 240_000 },
  async (ownSeed, { onTestFinished }) => {
    const path = await mkdtemp(join(tmpdir(), "holdfast-dump-"));
    onTestFinished(() => rm(path, { recursive: true, force: true, maxRetries: 5 }));
    const random = seededRandom(ownSeed);
    const [place, restored] = [await newPlace(path), await newPlace(join(path, "restored"))];
    onTestFinished(async () => {
      await place.remove();
      await restored.remove();
    });
    const file = join(path, "tasks.dump");
    const [logFile, laterLog] = [join(path, "log"), join(path, "later-log")];

    const work = new Work(random);
    const options: VictimOptions = { place, logFile };
    const promised = await (async () => {
      await using fleet = new Fleet(
        members,
        () => options,
        (url) => work.serverAt(url),
      );
      await Promise.all(Array.from({ length: members }, (_, number) => fleet.start(number)));
      work.add(false, 60);
      const dead = new AbortController();
      const driven = fleet.members.map(({ server }, number) =>
        Promise.all(
          work.jobs
            .filter((_, index) => index % members === number)
            .map((job) => work.driveJob(job, server, dead.signal)),
        ),
      );
      await pause(500 + random() * 2_500);
      // What clients know now was committed before the dump begins, and has to be in it.
      const jobs = structuredClone(work.jobs).filter(({ taskId, key }) => (taskId ?? key) !== undefined);
      const lines = readLog(logFile);
      const made = await runMain(["admin", place.at, "dump", file], { cwd: path });
      expect(made).toMatchObject({ code: 0, stderr: "" });
      await pause(random() * 500);
      await Promise.all(fleet.members.map((_, number) => fleet.kill(number)));
      dead.abort();
      await Promise.all(driven);
      expect([...fleet.complaints, ...work.violations]).toEqual([]);
      return { jobs, lines };
    })();
    const killed = readLog(logFile).filter(({ event }) => event === "killed");
    expect(killed).toHaveLength(members);

    expect(await runMain(["admin", restored.at, "load", file], { cwd: path })).toMatchObject({
      code: 0,
      stderr: "",
    });
    const onlooker = onlookerAt(restored.at);
    expect(await onlooker.problems(promised.jobs)).toEqual([]);
    const later = new Work(random);
    later.jobs.push(...promised.jobs);
    await using fleet = new Fleet(
      1,
      () => ({ place: restored, logFile: laterLog }),
      (url) => later.serverAt(url),
    );
    await fleet.start(0);
    const [member] = fleet.members;
    if (member === undefined) throw new Error("nobody serves");
    const patience = AbortSignal.timeout(patienceMs);
    const before = new Map(promised.jobs.map((job) => [job, job.ended]));
    await later.drive(member.server, patience);
    expect(later.violations).toEqual([]);
    expect(later.open).toEqual([]);
    const unfinished = (): Promise<number> => onlooker.count("unfinished");
    while ((await unfinished()) > 0 && !patience.aborted) await pause(20);
    expect(await unfinished()).toBe(0);

    const afterwards = readLog(laterLog);
    const lines: readonly LogLine[] = [...promised.lines, ...killed, ...afterwards];
    expect(repeatedSteps(lines)).toEqual([]);
    expect(overlappingAttempts(lines)).toEqual([]);
    const once = runsOf(lines, "whole");
    expect(once).toEqual([...new Set(once)]);
    // What ended just before the dump has nothing in the later log, and what went on there has all that counts. So has what did not go on there
    // since it was not safe: what it did in the original after the dump counts for nothing.
    const wentOn = new Set(afterwards.map(({ task }) => task));
    const whole = readLog(logFile);
    for (const job of promised.jobs) {
      const failed = job.ended?.includes('"status":"failed"') === true;
      expectHonestEnd(job, failed || wentOn.has(job.taskId ?? "") ? lines : whole);
    }
    for (const [job, ended] of before)
      if (ended !== undefined && job.taskId !== undefined)
        expect(await later.endAt(member.server, job)).toBe(ended);
    expect(await onlooker.problems(promised.jobs)).toEqual([]);
  },
);

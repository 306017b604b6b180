import { mkdtemp, rm } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { keptValues, readLog, repeatedSteps } from "./log.ts";
import { seededRandom } from "./random.ts";
import { Rpc, type SeenTask } from "./rpc.ts";
import { Victim } from "./victim.ts";
import { Work, type Job } from "./work.ts";

const kills = Number(process.env["CRASH_KILLS"] ?? 50);
const seed = Number(process.env["CRASH_SEED"] ?? Math.floor(Math.random() * 1e9));

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-crash-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it(`keeps every promise through ${kills} kills (CRASH_SEED=${seed})`, { timeout: 240_000 }, async () => {
  const random = seededRandom(seed);
  const database = join(folder, "tasks.db");
  const logFile = join(folder, "log");
  const work = new Work(random);
  const start = (): Victim => new Victim(database, logFile);

  for (let kill = 0; kill < kills; kill++) {
    while (work.open < 12) work.add();
    const victim = start();
    // Some die while they start and recover, most while they work.
    if (random() < 0.15) {
      await pause(random() * 400);
      await victim.kill();
    } else {
      await workUntilKilled(victim, work, random() * 250);
    }
    expect(victim.stderr).toBe("");
  }

  const last = start();
  await finish(last, work);
  await last.kill();
  expect(work.violations).toEqual([]);
  expect(work.open).toBe(0);

  const lines = readLog(logFile);
  expect(repeatedSteps(lines)).toEqual([]);
  const runsOfOnce = lines.filter(({ key }) => key === "whole").map(({ task }) => task);
  expect(runsOfOnce).toEqual([...new Set(runsOfOnce)]);
  for (const job of work.jobs) expectHonestEnd(job, keptValues(lines, job.taskId ?? ""));

  await expectSameAfterRestart(start(), work);
  expectSound(database, work.jobs.length);
});

async function workUntilKilled(victim: Victim, work: Work, afterMs: number): Promise<void> {
  const url = await victim.ready();
  if (url === undefined) throw new Error(`The server did not start: ${victim.stderr}`);
  const dead = new AbortController();
  const driving = work.drive(new Rpc(url), dead.signal);
  await pause(afterMs);
  await victim.kill();
  dead.abort();
  await driving;
}

/** Nobody kills any more: everything has to come to its end. */
async function finish(victim: Victim, work: Work): Promise<void> {
  const url = await victim.ready();
  if (url === undefined) throw new Error(`The server did not start: ${victim.stderr}`);
  await work.drive(new Rpc(url), AbortSignal.timeout(120_000));
}

/** A task's end follows from what was journalled and acknowledged, or says honestly that it failed. */
function expectHonestEnd(job: Job, kept: ReadonlyMap<string, string>): void {
  const task = JSON.parse(job.ended ?? "null") as SeenTask;
  if (task.status === "cancelled") {
    expect(job.toBeCancelled).toBe(true);
    return;
  }
  if (task.status === "failed") {
    expect(job.tool).toBe("once");
    expect(task.error).toMatchObject({
      code: -32603,
      message: expect.stringContaining("not known to be safe"),
    });
    return;
  }
  if (job.tool === "once") return;
  const words = task.result?.content[0].text.split(" ");
  const order = job.tool === "asks" ? ["before", "word", "after"] : [...kept.keys()].toSorted(byNumber);
  expect(words).toEqual(order.map((key) => kept.get(key)));
  if (job.tool === "asks" && job.answer !== undefined) expect(words?.[1]).toBe(job.answer);
}

const byNumber = (a: string, b: string): number => Number(a.split(" ")[1]) - Number(b.split(" ")[1]);

async function expectSameAfterRestart(victim: Victim, work: Work): Promise<void> {
  const url = await victim.ready();
  if (url === undefined) throw new Error(`The server did not start: ${victim.stderr}`);
  const rpc = new Rpc(url);
  const again = await Promise.all(
    work.jobs.map(async ({ taskId = "" }) => JSON.stringify(await rpc.get(taskId))),
  );
  expect(again).toEqual(work.jobs.map(({ ended }) => ended));
  await victim.kill();
}

/** The database is whole, and no lost answer has made a second task. */
function expectSound(database: string, jobs: number): void {
  const db = new DatabaseSync(database, { readOnly: true });
  expect({ ...db.prepare("PRAGMA integrity_check").get() }).toEqual({ integrity_check: "ok" });
  expect({ ...db.prepare("SELECT count(*) AS tasks FROM task").get() }).toEqual({ tasks: jobs });
  db.close();
}

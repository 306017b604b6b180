import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { fullForm } from "../full-form.ts";
import { newPlace } from "../places/place.ts";
import { isFinal, type WireStatus } from "../../src/generation/sep-1686.ts";
import { readLog, repeatedSteps } from "./log.ts";
import { wrongNaps } from "./naps.ts";
import { Rests } from "./needless-runs.ts";
import { onlookerAt, type Onlooker } from "./onlooker.ts";
import { overlappingAttempts } from "./overlaps.ts";
import { seededRandom } from "./random.ts";
import { SepRpc } from "./sep-rpc.ts";
import { Victim } from "./victim.ts";

const kills = Math.ceil(Number(process.env["CRASH_KILLS"] ?? (fullForm ? 300 : 9)) / 3);
const seed = Number(process.env["CRASH_SEED"] ?? Math.floor(Math.random() * 1e9));
const limitMs = 120_000 + kills * 9_000;

interface Job {
  /** Made up by the client. */
  readonly taskId: string;
  readonly tool: "steps" | "naps";
  readonly args: object;
  /** The server has said that the task is there. */
  acknowledged: boolean;
  /** What `tasks/get` and `tasks/result` showed at its end; later reads have to be the same. */
  ended?: string;
}

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-crash-sep-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it(
  `keeps tasks under the ids of their requestors through ${kills} kills (CRASH_SEED=${seed}) [S-013 S-022 S-072 A-19 A-30]`,
  { timeout: limitMs },
  async () => {
    const random = seededRandom(seed);
    const place = await newPlace(folder);
    onTestFinished(() => place.remove());
    const logFile = join(folder, "log");
    const jobs: Job[] = [];
    const violations: string[] = [];
    const onlooker = onlookerAt(place.at);
    const rests = new Rests();
    const start = (): Victim =>
      new Victim({ place, logFile, anonymous: "shared", maxParkedFrames: Math.floor(random() * 3) });
    for (let kill = 0; kill < kills; kill++) {
      while (jobs.filter(({ ended }) => ended === undefined).length < 8) {
        jobs.push(anyJob(random));
      }
      const victim = start();
      const rpc = new SepRpc((await victim.ready()) ?? "");
      const dead = new AbortController();
      const driven = jobs.map((job) => drive(job, rpc, dead.signal, violations).catch(() => undefined));
      await pause(50 + random() * 300);
      await victim.kill();
      dead.abort();
      await Promise.all(driven);
      rests.add(await onlooker.resting());
      expect([victim.stderr, ...violations, ...(await wrongLives(onlooker))]).toEqual([""]);
    }

    const victim = start();
    const rpc = new SepRpc((await victim.ready()) ?? "");
    const patience = AbortSignal.timeout(60_000);
    await Promise.all(jobs.map((job) => drive(job, rpc, patience, violations)));
    // Once more, from another process than the one that ended them.
    await victim.kill();
    const last = start();
    const again = new SepRpc((await last.ready()) ?? "");
    for (const job of jobs) {
      expect(await endOf(again, job.taskId)).toBe(job.ended);
      expect(job.ended).toContain('"completed"');
      const { error } = await again.call(job.taskId, "steps", { count: 1 }, () => undefined);
      expect(error?.message).toBe("Task id is already in use");
    }
    await last.kill();
    expect([...violations, ...(await wrongLives(onlooker))]).toEqual([]);
    const lines = readLog(logFile);
    expect(overlappingAttempts(lines)).toEqual([]);
    expect(repeatedSteps(lines)).toEqual([]);
    expect(wrongNaps(lines, await onlooker.napDeadlines())).toEqual([]);
    expect(rests.needlessRuns(lines, [])).toEqual([]);
    expect(await onlooker.lives()).toHaveLength(jobs.length);
  },
);

function anyJob(random: () => number): Job {
  const steps = { tool: "steps", args: { count: 1 + Math.floor(random() * 10) } } as const;
  // Long enough for its frame to be dropped.
  const naps = { tool: "naps", args: { ms: 1_050 + Math.floor(random() * 1_000) } } as const;
  return { taskId: randomUUID(), acknowledged: false, ...(random() < 0.7 ? steps : naps) };
}

/** Calls under the same id until the server has it, and polls to the end. */
async function drive(job: Job, rpc: SepRpc, signal: AbortSignal, violations: string[]): Promise<void> {
  const { taskId } = job;
  if (job.ended !== undefined) return;
  const known = job.acknowledged;
  const created = Promise.withResolvers<void>();
  const call = rpc
    .call(taskId, job.tool, job.args, () => {
      if (known) violations.push(`${taskId} was made twice`);
      created.resolve();
    })
    .then(({ error }) => {
      if (error !== undefined && error.message !== "Task id is already in use")
        violations.push(error.message);
    });
  await Promise.race([created.promise, call]);
  job.acknowledged = true;
  call.catch(() => undefined);
  while (!signal.aborted) {
    const { result, error } = await rpc.about("tasks/get", taskId);
    if (error !== undefined) violations.push(`${taskId} is lost: ${error.message}`);
    if (result === undefined) return;
    if (isFinal(result["status"] as WireStatus)) {
      job.ended = await endOf(rpc, taskId);
      return;
    }
    await pause(5);
  }
}

async function endOf(rpc: SepRpc, taskId: string): Promise<string> {
  const [{ result: task }, { result }] = [
    await rpc.about("tasks/get", taskId),
    await rpc.about("tasks/result", taskId),
  ];
  return JSON.stringify({ task, result });
}

/** Tasks whose time does not count from their end, or that would expire while they run; there are none. */
async function wrongLives(onlooker: Onlooker): Promise<string[]> {
  const lives = await onlooker.lives();
  return lives
    .filter(({ finishedAt, sweepAt, runUntil, expiryMs }) =>
      finishedAt === null ? sweepAt !== runUntil : sweepAt !== finishedAt + expiryMs,
    )
    .map((life) => JSON.stringify(life));
}

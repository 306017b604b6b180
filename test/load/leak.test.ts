import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { fullForm } from "../full-form.ts";

/** What is there after so many tasks were made, ended and deleted. */
interface Checkpoint {
  readonly made: number;
  readonly rss: number;
  readonly heap: number;
  readonly file: number;
  readonly log: number;
}

const script = fileURLToPath(new URL("./leak-process.ts", import.meta.url));

const tasks = fullForm ? 100_000 : 5_000;

/**
 * The most that the last checkpoint may hold of what the first held, which comes after a fifth of the tasks. The heap is
 * code for the most part, and flat from then on: a hundred bytes that stay behind of each of 100,000 tasks are more than
 * it may grow. The database's file is as large as the most
 * tasks that there were at once, and a busy machine may delete later than it makes; its log is bounded by checkpoints.
 * The pages of the process include what the allocator and two V8 heaps (the writer's is a thread) have not given back.
 */
const most = { heap: 1.25, rss: 2.5, file: 2.5, log: 2 };

it(`${tasks} tasks that lived and went leave nothing behind`, { timeout: 60_000 + tasks * 6 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-leak-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const args = ["--expose-gc", script, join(folder, "tasks.db"), String(tasks)];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
  expect(stderr).toBe("");
  const checkpoints = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Checkpoint);
  expect(checkpoints.map(({ made }) => made)).toEqual([0.2, 0.4, 0.6, 0.8, 1].map((part) => part * tasks));
  const [first, last] = [checkpoints[0], checkpoints.at(-1)];
  if (first === undefined || last === undefined) throw new Error("There is no checkpoint.");
  for (const held of ["heap", "rss", "file", "log"] as const) {
    expect.soft(last[held] / first[held], `${held}: ${stdout}`).toBeLessThan(most[held]);
  }
});

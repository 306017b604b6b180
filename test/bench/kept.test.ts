import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { fullForm } from "../full-form.ts";

/** What a bench of that name keeps in its file; its databases are below the same folder, where the user of Postgres may look. */
async function kept(name: string, file: string, args: readonly string[]): Promise<unknown> {
  const out = await mkdtemp(join(tmpdir(), "holdfast-bench-"));
  onTestFinished(() => rm(out, { recursive: true, force: true, maxRetries: 5 }));
  const main = fileURLToPath(new URL(`../../bench/${name}/main.ts`, import.meta.url));
  await promisify(execFile)(process.execPath, ["--no-warnings", main, ...args, "--out", out]);
  return JSON.parse(await readFile(join(out, file), "utf8"));
}

it("measures what a life of a task costs each system", { timeout: 300_000 }, async () => {
  // All of them start some thirty processes.
  const names = fullForm ? [] : ["holdfast-sqlite", "restate"];
  const args = ["--rounds", "1", "--round-ms", "50", ...names];
  const { rows } = (await kept("systems", "peers.json", args)) as { rows: { writtenBytes: number }[] };
  expect(rows).toHaveLength(fullForm ? 15 : names.length);
  const measured = expect.any(Number) as unknown;
  for (const row of rows) {
    expect(row).toMatchObject({ aloneMs: measured, memoryMiB: measured });
    expect(row).not.toHaveProperty("failed");
  }
  // What is durable was written, wherever the system counts that.
  if (process.platform === "linux") expect(rows[0]?.writtenBytes).toBeGreaterThan(500);
});

it("measures what a task costs beside others", { timeout: 300_000 }, async () => {
  const axes = ["retained", "running", ...(fullForm ? ["processes", "processes-postgres"] : [])];
  const args = ["--minutes", "0.01", "--largest", "1000", ...axes];
  const lines = (await kept("scale", "scale.json", args)) as { name: string; points: unknown[] }[];
  expect(lines.map(({ name }) => name).toSorted()).toEqual(axes.toSorted());
  const measured = expect.any(Number) as unknown;
  for (const { points } of lines)
    for (const point of points) expect(point).toMatchObject({ costUs: measured, ratio: measured });
});

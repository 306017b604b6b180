import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { fullForm } from "../full-form.ts";

const main = fileURLToPath(new URL("../../bench/main.ts", import.meta.url));
/** One over HTTP, and one of a store alone; all of them take a minute. */
const names = fullForm ? [] : ["tasks-get", "flood-recovered"];

it("measures each figure and leaves nothing behind", { timeout: 120_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-bench-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const bench = spawn(process.execPath, [main, "--quick", "--json", "--folder", folder, ...names], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void bench.kill());
  const { figures } = (await json(bench.stdout)) as { figures: { name: string; ratio?: number }[] };
  expect(figures).toHaveLength(fullForm ? 32 : names.length);
  for (const figure of figures) expect(figure).toMatchObject({ ratio: expect.any(Number) as unknown });
  expect(await readdir(folder)).toEqual([]);
});

import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { ReadEvent } from "../../examples/index-folder/demo/read-log.ts";
import { untilReading } from "../../examples/index-folder/demo/until-reading.ts";

async function readLog() {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-read-log-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "reads.jsonl");
  const add = (event: ReadEvent["event"], file: string, at: number): Promise<void> =>
    appendFile(path, `${JSON.stringify({ pid: 1, at, event, path: file })}\n`);
  return { path, add };
}

it("waits while no read is in flight, and goes on with the next one that begins", async () => {
  const { path, add } = await readLog();
  const longAgo = Date.now() - 3_600_000;
  await add("begin", "a", longAgo);
  await add("kept", "a", longAgo);
  let isReading = false;
  const reading = untilReading(path, 3).then(() => (isReading = true));
  const lookedAgain = untilReading(path, 1); // comes after a look at the same log
  await lookedAgain;
  expect(isReading).toBe(false);
  await add("begin", "b", Date.now() + 3_600_000); // still young, however slow this machine is
  await reading;
});

it("does not wait where nothing is left to read", async () => {
  const { path, add } = await readLog();
  await add("begin", "a", 0);
  await untilReading(path, 1);
});

import { writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { startWriterThread, Writer } from "../../../src/store/sqlite/writer.ts";
import { createQueued } from "../../contract/sample-task.ts";
import { someOwner } from "./some-owner.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();
const isLost = { code: "store_lost" };

/** A writer whose thread runs `code` instead of the true one. */
async function writerWith(code: string): Promise<Writer> {
  const file = temp.path("worker.mjs");
  await writeFile(file, `import { parentPort } from "node:worker_threads";\n${code}`);
  const options = { path: temp.path(), owner: someOwner(), busyTimeoutMs: 1, maxBytes: null, migrate: true };
  return Writer.start(startWriterThread(options, pathToFileURL(file)), () => undefined);
}

const isReady = 'parentPort.postMessage({ type: "ready" });';

test.each([
  ["exits", "process.exit(3)"],
  ["throws", 'throw new Error("boom")'],
])("a thread that %s fails the writes that wait and all later ones, and can be stopped", async (_, death) => {
  const writer = await writerWith(`${isReady} parentPort.on("message", () => { ${death} });`);
  const first = writer.write(createQueued("a"));
  // Leaves with a second group, which the thread never gets to see.
  const second = Promise.resolve().then(() => Promise.resolve().then(() => writer.write(createQueued("b"))));
  const ends = await Promise.allSettled([first, second]);
  for (const end of ends) expect(end).toMatchObject({ status: "rejected", reason: isLost });
  await expect(writer.write(createQueued("c"))).rejects.toMatchObject(isLost);
  await writer.stop();
});

test("a stop that waits for a commit does not wait for a thread that died", async () => {
  const writer = await writerWith(`${isReady} parentPort.on("message", () => process.exit(1));`);
  const write = writer.write(createQueued("a"));
  const stopped = writer.stop();
  await expect(write).rejects.toMatchObject(isLost);
  await stopped;
});

test("an idle thread that dies is noticed", async () => {
  const writer = await writerWith(
    `${isReady} setTimeout(() => process.exit(0), 0); parentPort.on("message", () => {});`,
  );
  const failure = async (): Promise<unknown> => {
    for (;;) {
      const end: unknown = await writer.write(createQueued("a")).catch((error: unknown) => error);
      if (end instanceof Error) return end;
    }
  };
  expect(await failure()).toMatchObject(isLost);
});

test.each([
  ["exits", "process.exit(3)"],
  ["throws", 'throw new Error("boom")'],
  ["cannot be loaded", "import './missing.mjs'"],
])("a thread that %s at once fails the start", async (_, death) => {
  await expect(writerWith(death)).rejects.toMatchObject({ code: "store_unusable" });
});

test("a group that the thread could not commit rejects whole, and the next one goes on", async () => {
  const writer = await writerWith(`${isReady}
    let groups = 0;
    parentPort.on("message", ({ commands }) => {
      groups++;
      if (groups === 1) parentPort.postMessage({ type: "failed", problem: "disk I/O error", code: "store_failed" });
      else parentPort.postMessage({ type: "committed", changes: [], answers: commands.map(() => ({ result: groups })) });
    });`);
  const ends = await Promise.allSettled([writer.write(createQueued("a")), writer.write(createQueued("b"))]);
  for (const end of ends) expect(end).toMatchObject({ status: "rejected", reason: { code: "store_failed" } });
  expect(await writer.write(createQueued("c"))).toBe(2);
});

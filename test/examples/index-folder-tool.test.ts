import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { connect, type InputResult } from "holdfast/client";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import {
  addIndexFolder,
  readsAtOnce,
  type IndexFolderOptions,
} from "../../examples/index-folder/index-folder.ts";

let parent = "";
let folder = "";
beforeEach(async () => {
  parent = await realpath(await mkdtemp(join(tmpdir(), "holdfast-tool-test-")));
  folder = join(parent, "folder");
  await mkdir(folder);
});
afterEach(() => rm(parent, { recursive: true, force: true }));

const yes: InputResult = { action: "accept", content: { write: true } };

/** Calls the tool on `folder`, with one answer to its question. */
async function index(options: Partial<IndexFolderOptions> = {}, answer: InputResult = yes) {
  const tasks = createTasks({ store: memoryStore(), pollIntervalMs: 1 });
  addIndexFolder(tasks, { reportFolder: join(parent, "reports"), ...options });
  const http = await serveHttp(
    tasks.server(() => new McpServer({ name: "test", version: "1.0.0" })),
    { port: 0 },
  );
  onTestFinished(() => http.close());
  const client = await connect(http.url, { pollFloorMs: 1, onInput: async () => answer });
  onTestFinished(() => client.close());
  return client.callTool("index_folder", { folder });
}

it("reports files that vanish, cannot be read or are no text, and goes on", async () => {
  for (const name of ["first", "gone", "last"]) await writeFile(join(folder, name), `${name} word`);
  await writeFile(join(folder, "image"), Buffer.from([0x89, 0, 1, 2]));
  await writeFile(join(folder, "replaced"), "soon a folder");
  const result = await index({
    watch: {
      async read(path, _total, run) {
        if (path === "gone") await rm(join(folder, path));
        if (path === "replaced") {
          await rm(join(folder, path));
          await mkdir(join(folder, path));
        }
        return run();
      },
      kept: () => undefined,
    },
  });
  expect(result.structuredContent).toMatchObject({
    files: 2,
    words: 4,
    leftOut: ["1 binary file", "1 file or folder without access", "1 file that vanished meanwhile"],
  });
});

it("reads some files at a time, and tells of each once its step is kept", async () => {
  const names = Array.from({ length: 40 }, (_, n) => `file ${n}`);
  for (const name of names) await writeFile(join(folder, name), "word");
  const kept: string[] = [];
  let reading = 0;
  let most = 0;
  await index({
    watch: {
      async read(_path, total, run) {
        expect(total).toBe(40);
        most = Math.max(most, ++reading);
        const result = await run();
        reading--;
        return result;
      },
      kept: (path) => kept.push(path),
    },
  });
  expect(kept.toSorted()).toEqual(names.toSorted());
  expect(most).toBe(readsAtOnce);
});

it.each<[string, InputResult]>([
  ["no", { action: "accept", content: { write: false } }],
  ["not at all", { action: "decline" }],
])("writes no report where the answer is %s", async (_, answer) => {
  const result = await index({}, answer);
  expect(result.isError).toBeUndefined();
  expect(result.structuredContent).toMatchObject({ reportPath: null });
  expect(await readdir(parent)).toEqual(["folder"]);
});

it("leaves one report for a folder, however often it is indexed, and nothing half written", async () => {
  await index();
  await index();
  expect(await readdir(join(parent, "reports"))).toEqual([expect.stringMatching(/^folder-[0-9a-f]{8}\.md$/)]);
});

it("never opens what it is to keep out of", async () => {
  for (const name of ["tasks.db", "tasks.db-wal", "tasks.db.lock", "text"])
    await writeFile(join(folder, name), "x");
  const read: string[] = [];
  const result = await index({
    keepOut: async () => [join(folder, "tasks.db")],
    watch: { read: (_path, _total, run) => run(), kept: (path) => read.push(path) },
  });
  expect(read).toEqual(["text"]);
  expect(result.structuredContent).toMatchObject({ files: 1, leftOut: [] });
});

it("stops counting in a folder without end", async () => {
  for (let n = 0; n < 10; n++) await writeFile(join(folder, String(n)), "word");
  const result = await index({ limits: { maxFiles: 2, maxNames: 5 } });
  expect(result.structuredContent).toMatchObject({
    files: 2,
    leftOut: ["3 files beyond the first 2", "whatever comes after the first 5 names"],
  });
});

it.each([
  ["is missing", async () => rm(folder, { recursive: true }), "There is no folder"],
  [
    "is a file",
    async () => {
      await rm(folder, { recursive: true });
      await writeFile(folder, "text");
    },
    "is no folder",
  ],
])("says so where the folder %s", async (_, prepare, message) => {
  await prepare();
  const result = await index();
  expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining(message) }] });
});

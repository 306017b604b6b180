import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync } from "node:zlib";
import { postgresStore } from "holdfast/postgres";
import { sqliteStore } from "holdfast/sqlite";
import { encryptedStore, type TaskStore } from "holdfast/store";
import { expect, onTestFinished, test } from "vitest";
import { dumpStore, loadStore } from "../../../src/store/data-care.ts";
import { exportJournal } from "../../../src/store/export-journal.ts";
import type { StorePlace } from "../../../src/store/from-url.ts";
import { requestHash } from "../../../src/runtime/call-keys.ts";
import { OwnServer } from "../../postgres/own-server.ts";
import { withClient } from "../../postgres/with-client.ts";
import { mark, markedArguments, markedLife } from "./marked-life.ts";

const keys = [{ id: "k1", key: Buffer.alloc(32, 7) }];
/** By which whoever guesses the arguments would find that they were these. */
const guess = requestHash("full", markedArguments);

/** The files of a folder that have one of the texts, of all that are in it. */
async function filesWith(folder: string, ...texts: readonly string[]): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  expect(files.length).toBeGreaterThan(1);
  const read = await Promise.all(
    // A database removes files of its own while it runs.
    files.map(async (path) => ({ path, bytes: await readFile(path).catch(() => Buffer.alloc(0)) })),
  );
  return read.filter(({ bytes }) => texts.some((text) => bytes.includes(text))).map(({ path }) => path);
}

/** What the next process has of a task. */
async function readBack(store: TaskStore, id: string): Promise<string> {
  await store.open({ id: "reader", handlers: [] });
  try {
    return JSON.stringify(await exportJournal(store, id));
  } finally {
    await store.close();
  }
}

/** What a dump of a store has, which is compressed in its file, and the file itself. */
async function inDump(place: StorePlace, file: string): Promise<readonly Buffer[]> {
  const { signal } = new AbortController();
  await dumpStore(place, file, { now: Date.now(), since: undefined, signal });
  const bytes = await readFile(file);
  return [gunzipSync(bytes), bytes];
}

function expectNothingIn(contents: readonly Buffer[]): void {
  for (const bytes of contents) {
    expect(bytes.length).toBeGreaterThan(1_000);
    expect([mark, guess].filter((text) => bytes.includes(text))).toEqual([]);
  }
}

async function loaded(from: string, to: StorePlace): Promise<void> {
  await loadStore(to, from, { beside: true, partial: false, signal: new AbortController().signal });
}

async function folderOfTest(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-encrypted-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

test("a SQLite file, what lies beside it and a copy of it have nothing of what was said", async () => {
  const folder = await folderOfTest();
  const path = join(folder, "tasks.db");
  const id = await markedLife(encryptedStore(sqliteStore(path), { keys }), async () => {
    expect(await readdir(folder)).toContain("tasks.db-wal");
    expect(await filesWith(folder, mark, guess)).toEqual([]);
    const db = new DatabaseSync(path, { timeout: 20_000 });
    db.prepare("VACUUM INTO ?").run(join(folder, "copy.db"));
    db.close();
  });
  expect(await filesWith(folder, mark, guess)).toEqual([]);
  expect(await readBack(encryptedStore(sqliteStore(path), { keys }), id)).toContain(mark);
  expect(await readBack(encryptedStore(sqliteStore(join(folder, "copy.db")), { keys }), id)).toContain(mark);
});

test("without encryption both are found, in the same places", async () => {
  const folder = await folderOfTest();
  const path = join(folder, "tasks.db");
  await markedLife(sqliteStore(path), async () => undefined);
  expect(await filesWith(folder, mark)).not.toEqual([]);
  expect(await filesWith(folder, guess)).not.toEqual([]);
  const [dumped] = await inDump({ kind: "sqlite", path }, join(folder, "tasks.dump"));
  expect([mark, guess].filter((text) => dumped?.includes(text))).toEqual([mark, guess]);
});

test("a dump of a SQLite store has nothing of it, and can be read with the keys", async () => {
  const folder = await folderOfTest();
  const path = join(folder, "tasks.db");
  const file = join(folder, "tasks.dump");
  const id = await markedLife(encryptedStore(sqliteStore(path), { keys }), async () => {
    expectNothingIn(await inDump({ kind: "sqlite", path }, file));
  });
  const copy = join(folder, "loaded.db");
  await loaded(file, { kind: "sqlite", path: copy });
  expect(await filesWith(folder, mark, guess)).toEqual([]);
  expect(await readBack(encryptedStore(sqliteStore(copy), { keys }), id)).toContain(mark);
});

test(
  "a Postgres server has nothing of it in any of its files, nor in a dump",
  { timeout: 120_000 },
  async () => {
    await using server = await OwnServer.start();
    const { url } = server;
    const store = (): TaskStore => encryptedStore(postgresStore(url), { keys });
    const dataOf = async (): Promise<string> => {
      const found: string[] = [];
      await withClient(url, async (client) => {
        await client.query("checkpoint");
        const { rows } = await client.query<{ data_directory: string }>("show data_directory");
        found.push(...rows.map(({ data_directory }) => data_directory));
      });
      return found[0] ?? "";
    };
    const id = await markedLife(store(), async () => {
      expect(await filesWith(await dataOf(), mark, guess)).toEqual([]);
    });
    const file = join(await folderOfTest(), "tasks.dump");
    expectNothingIn(await inDump({ kind: "postgres", url, options: {} }, file));
    await loaded(file, { kind: "postgres", url, options: { schema: "copy" } });
    expect(await filesWith(await dataOf(), mark, guess)).toEqual([]);
    expect(await readBack(store(), id)).toContain(mark);
    expect(await readBack(encryptedStore(postgresStore(url, { schema: "copy" }), { keys }), id)).toContain(
      mark,
    );
  },
);

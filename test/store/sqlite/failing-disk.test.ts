import { writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { startWriterThread, Writer } from "../../../src/store/sqlite/writer.ts";
import type { TaskStore } from "../../../src/store/store.ts";
import {
  createQueued,
  createRunning,
  noon,
  sampleRequest,
  settleAs,
} from "../../../src/testing/sample-task.ts";
import { runChild } from "./child.ts";
import { someOwner } from "./some-owner.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();
const writeForever = new URL("./write-forever.ts", import.meta.url);
const maxBytes = 400_000;

/** Writes groups of tasks until one group fails; gives the ids by how their writes ended. */
async function writeUntilFull(store: TaskStore): Promise<{ kept: string[]; lost: string[] }> {
  const kept: string[] = [];
  const lost: string[] = [];
  const body = JSON.stringify("x".repeat(3000));
  for (let round = 0; lost.length === 0; round++) {
    const names = Array.from({ length: 8 }, (_, index) => `${round}-${index}`);
    const writes = names.map((name) =>
      store.write({ ...createQueued(name), request: { ...sampleRequest, arguments: body } }),
    );
    const ends = await Promise.allSettled(writes);
    for (const [index, end] of ends.entries()) {
      if (end.status === "fulfilled") kept.push(`task-${names[index]}`);
      else lost.push(`task-${names[index]}`);
      if (end.status === "rejected") expect(end.reason).toMatchObject({ code: "store_failed" });
    }
  }
  return { kept, lost };
}

async function expectExactly(
  store: TaskStore,
  kept: readonly string[],
  lost: readonly string[],
): Promise<void> {
  const found = await store.unfinished("", 10_000);
  expect(found.map(({ id }) => id).toSorted()).toEqual(kept.toSorted());
  for (const id of kept) expect(await store.request(id)).toMatchObject({ origin: sampleRequest.origin });
  for (const id of lost) {
    expect(await store.get(id)).toBeUndefined();
    expect(await store.request(id)).toBeUndefined();
  }
}

describe("a full database", () => {
  test("keeps what was acknowledged and nothing of what was refused, whole groups at a time", async () => {
    const store = await temp.open("tasks.db", { maxBytes });
    const told: string[] = [];
    store.subscribe((changes) => {
      if (changes !== "gap") told.push(...changes.map(({ id }) => id));
    });
    const { kept, lost } = await writeUntilFull(store);
    // The first of the group had room by themselves; none of them may have been acknowledged.
    expect(lost).toHaveLength(8);
    expect(kept.length).toBeGreaterThan(8);
    expect(told).toEqual(kept);
    await expectExactly(store, kept, lost);
    await store.close();
    await expectExactly(await temp.open(), kept, lost);
  });

  test("serves again after something was deleted, and can be read all the while", async () => {
    const store = await temp.open("tasks.db", { maxBytes });
    const { kept } = await writeUntilFull(store);
    const [first = "", second = ""] = kept;
    expect(await store.get(first)).toBeDefined();
    for (const id of [first, second]) {
      expect(await store.write({ type: "cancel", now: noon, id })).toMatchObject({ ok: true });
    }
    const swept = await store.write({ type: "delete_expired", now: noon + 60_000, limit: 10 });
    expect(swept).toEqual({ ok: true, deleted: [first, second] });
    expect(await store.write(createQueued("new"))).toMatchObject({ ok: true, created: true });
  });
});

/** Leaves no room for even the smallest task. */
async function fill(store: TaskStore): Promise<string[]> {
  const kept: string[] = [];
  for (let size = 64_000; size >= 1; size = Math.floor(size / 8))
    for (let round = 0; ; round++) {
      const name = `${size}-${round}`;
      const request = { ...sampleRequest, arguments: JSON.stringify("x".repeat(size)) };
      const refused = await store.write({ ...createQueued(name), request }).catch((error: unknown) => error);
      if (refused instanceof Error) {
        expect(refused.message).toMatch(/maxBytes \(400000 bytes\).*[Dd]elete/);
        break;
      }
      kept.push(`task-${name}`);
    }
  return kept;
}

describe("a database that has reached `maxBytes`", () => {
  test("lets everything through that ends work or frees space, also beside what it refuses", async () => {
    const store = await temp.open("tasks.db", { maxBytes });
    await store.write(createRunning("held"));
    const kept = await fill(store);
    const by = { actor: "ann", action: "cancel" };
    const job = {
      id: "job",
      actor: "ann",
      action: "delete",
      selection: {},
      principal: null,
      text: null,
      options: {},
      createdAt: noon,
    } as const;
    const made = store.write(createQueued("new"));
    const step = store.write({
      type: "record_step",
      now: noon,
      id: "task-held",
      token: "token-held",
      key: "a",
      value: JSON.stringify("x".repeat(9_000)),
      error: null,
    });
    const settled = store.write(settleAs("held", JSON.stringify("x".repeat(20_000))));
    const asked = store.write({ type: "add_bulk_tasks", now: noon, job, from: 0, taskIds: kept });
    const cancels = kept.map((id) => store.write({ type: "cancel", now: noon, id, by }));
    for (const refused of [made, step])
      await expect(refused).rejects.toThrow(/has reached its maxBytes \(400000 bytes\), or its disk is full/);
    expect(await settled).toMatchObject({ ok: true });
    expect(await asked).toEqual({ ok: true });
    for (const cancelled of await Promise.all(cancels)) expect(cancelled).toMatchObject({ ok: true });
    await expect(store.write(createQueued("new"))).rejects.toMatchObject({ code: "store_failed" });
    const [first = "", ...others] = kept;
    expect(await store.write({ type: "delete", now: noon, id: first, by })).toEqual({ ok: true });
    const swept = await store.write({ type: "delete_expired", now: noon + 60_000, limit: 1_000 });
    expect(swept).toMatchObject({ ok: true, deleted: expect.arrayContaining(others) });
    expect(await store.write(createQueued("new"))).toMatchObject({ ok: true, created: true });
  });

  test("takes reports only while there is room for tasks", async () => {
    const store = await temp.open("tasks.db", { maxBytes });
    const report = async (): Promise<void> => store.reports?.write({ minute: 1, body: "{}" }, 0);
    await report();
    const [first = ""] = await fill(store);
    await expect(report()).rejects.toMatchObject({ code: "store_failed" });
    await store.write({ type: "cancel", now: noon, id: first });
    await store.write({ type: "delete", now: noon, id: first });
    await report();
  });

  test("opens for another process, which can delete at once", async () => {
    const store = await temp.open("tasks.db", { maxBytes });
    const [first = ""] = await fill(store);
    const other = await temp.open("tasks.db", { maxBytes: 1 });
    await expect(other.write(createQueued("new"))).rejects.toMatchObject({ code: "store_failed" });
    expect(await other.write({ type: "cancel", now: noon, id: first })).toMatchObject({ ok: true });
    expect(await other.write({ type: "delete", now: noon, id: first })).toEqual({ ok: true });
  });

  test("keeps its limit where another program locks it before the ends of a refused group are written", async () => {
    const store = await temp.open("tasks.db", { maxBytes });
    const [first = ""] = await fill(store);
    await store.close();
    const file = temp.path("worker.mjs");
    await writeFile(
      file,
      `import { DatabaseSync } from "node:sqlite"; import { workerData } from "node:worker_threads";
      const { exec } = DatabaseSync.prototype;
      let other;
      DatabaseSync.prototype.exec = function (sql) {
        exec.call(this, sql);
        if (!sql.startsWith("PRAGMA max_page_count")) return;
        other?.close();
        other = undefined;
        if (!sql.endsWith(" = ${Math.floor((maxBytes * 9) / 8 / 4096)}")) return;
        other = new DatabaseSync(workerData.path);
        exec.call(other, "BEGIN IMMEDIATE");
      };
      await import("${new URL("../../../src/store/sqlite/writer-worker.ts", import.meta.url).href}");`,
    );
    const options = { path: temp.path(), owner: someOwner(), busyTimeoutMs: 1, maxBytes, migrate: true };
    const writer = await Writer.start(startWriterThread(options, pathToFileURL(file)), () => undefined);
    const ends = [writer.write(createQueued("new")), writer.write({ type: "cancel", now: noon, id: first })];
    for (const end of ends) await expect(end).rejects.toThrow("is locked by another program");
    await expect(writer.write(createQueued("new"))).rejects.toThrow("has reached its maxBytes");
    await writer.stop();
  });

  test("keeps results that do not fit into an eighth more waiting, and no cancel behind them", async () => {
    const store = await temp.open("tasks.db", { maxBytes });
    await store.write(createRunning("held"));
    const [first = ""] = await fill(store);
    const settled = store.write(settleAs("held", JSON.stringify("x".repeat(80_000))));
    const cancelled = store.write({ type: "cancel", now: noon, id: first });
    await expect(settled).rejects.toMatchObject({ code: "store_failed" });
    expect(await cancelled).toMatchObject({ ok: true });
    expect(await store.get("task-held")).toMatchObject({ state: "running" });
  });
});

// The limit on file sizes makes writes fail with a true I/O error, whoever runs the test.
test.runIf(process.platform !== "win32")(
  "an I/O error rejects its group and harms nothing before it",
  async () => {
    const limited = (command: readonly string[]) => [
      "sh",
      "-c",
      'ulimit -f 1000 && exec "$@"',
      "sh",
      ...command,
    ];
    const child = runChild(writeForever, [temp.path()], limited);
    const lines = await child.rest();
    expect(lines[0]).toBe("open");
    expect(lines.at(-1)).toBe("closed");
    const ids = (word: string) =>
      lines.filter((line) => line.startsWith(word)).map((line) => line.split(" ")[1] ?? "");
    expect(ids("kept").length).toBeGreaterThan(0);
    expect(ids("lost")).toHaveLength(10);
    for (const line of lines.filter((each) => each.startsWith("lost"))) {
      expect(line).toContain("store_failed");
      expect(line).toContain("disk I/O error");
    }
    await expectExactly(await temp.open(), ids("kept"), ids("lost"));
  },
);

test("a file that another program holds fails writes, not reads, until it lets go", async () => {
  const store = await temp.open("tasks.db", { busyTimeoutMs: 1 });
  await store.write(createQueued("a"));
  const other = new DatabaseSync(temp.path());
  try {
    other.exec("BEGIN IMMEDIATE");
    const ends = await Promise.allSettled([store.write(createQueued("b")), store.write(createQueued("c"))]);
    for (const end of ends)
      expect(end).toMatchObject({ status: "rejected", reason: { code: "store_failed" } });
    expect(await store.get("task-a")).toBeDefined();
    expect(await store.get("task-b")).toBeUndefined();
    other.exec("ROLLBACK");
  } finally {
    other.close();
  }
  expect(await store.write(createQueued("b"))).toMatchObject({ ok: true });
});

test("a database that becomes useless under a running store rejects every write, and never hangs", async () => {
  const store = await temp.open();
  await store.write(createQueued("a"));
  const other = new DatabaseSync(temp.path());
  other.exec("ALTER TABLE request RENAME TO gone");
  await expect(store.write(createQueued("b"))).rejects.toMatchObject({ code: "store_failed" });
  other.exec("PRAGMA application_id = 7");
  await expect(store.request("task-a")).rejects.toMatchObject({ code: "store_failed" });
  other.exec("ALTER TABLE gone RENAME TO request");
  other.close();
  expect(await store.get("task-b")).toBeUndefined();
  expect(await store.write(createQueued("b"))).toMatchObject({ ok: true });
});

test("after a group failed the file is opened anew, and looked at anew", async () => {
  const store = await temp.open("tasks.db", { maxBytes });
  const { kept } = await writeUntilFull(store);
  const other = new DatabaseSync(temp.path());
  try {
    const mark = other.prepare("PRAGMA application_id").get()?.["application_id"];
    other.exec("PRAGMA application_id = 7");
    const cancel = { type: "cancel", now: noon, id: kept[0] ?? "" } as const;
    const another = /^Nothing was written: .* is the SQLite database of another program\..*[^.]\.$/;
    await expect(store.write(cancel)).rejects.toThrow(another);
    await expect(store.write(cancel)).rejects.toMatchObject({ code: "store_failed" });
    other.exec(`PRAGMA application_id = ${String(mark)}`);
    expect(await store.write(cancel)).toMatchObject({ ok: true });
  } finally {
    other.close();
  }
});

import { expect, onTestFinished, test, vi } from "vitest";
import { deleteExpired } from "../../src/admin/store-care.ts";
import { mostPieces } from "../../src/store/left-pieces.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { createRunning, noon } from "../../src/testing/sample-task.ts";
import { kinds, somePlace } from "../cli/admin/some-place.ts";
import { Process, text } from "../runtime/harness.ts";

/** More than two commits may delete. */
const many = 2 * mostPieces + 3;

async function opened(store: TaskStore, id: string): Promise<TaskStore> {
  await store.open({ id, handlers: [] });
  onTestFinished(() => store.close());
  return store;
}

const held = { now: noon + 1, token: "t1" } as const;

async function withFile(store: TaskStore, name: string, pieces: number): Promise<void> {
  await Promise.all(
    Array.from({ length: pieces }, (_, seq) =>
      store.write({ ...held, id: `task-${name}`, type: "write_piece", key: "file", seq, body: "YWI=" }),
    ),
  );
}

async function ended(store: TaskStore, name: string): Promise<void> {
  const id = `task-${name}`;
  await store.write(createRunning(name));
  await withFile(store, name, many);
  const value = { value: '{"bytes":3}', error: null };
  await store.write({
    ...held,
    id,
    type: "record_step",
    key: "file",
    artifact: true,
    begunAt: noon,
    ...value,
  });
  await store.write({ type: "cancel", now: noon + 2, id });
}

/** Also those of a task that has been deleted. */
async function piecesOf(store: TaskStore, name: string): Promise<number> {
  const seqs = Array.from({ length: many }, (_, seq) => seq);
  const read = await Promise.all(seqs.map(async (seq) => store.pieces?.read(`task-${name}`, "file", seq)));
  return read.filter((body) => body !== undefined).length;
}

/** Resolves with how many calls it took. */
async function deleteLeft(store: TaskStore): Promise<number> {
  for (let calls = 1; ; calls++) if ((await store.pieces?.deleteLeft?.()) !== true) return calls;
}

test.each(kinds)(
  "a large file is deleted after its task, in parts, and those of other tasks stay (%s)",
  async (kind) => {
    const place = await somePlace(kind);
    const store = await opened(place.store(), "one");
    for (const name of ["a", "b", "c"]) await ended(store, name);
    await store.write({ type: "delete", now: noon + 3, id: "task-a" });
    expect(await piecesOf(store, "a")).toBe(many - mostPieces);
    expect(await deleteLeft(store)).toBeGreaterThan(1);
    expect([await piecesOf(store, "a"), await piecesOf(store, "b")]).toEqual([0, many]);

    await store.write({ type: "delete", now: noon + 3, id: "task-b" });
    await store.close();
    const next = await opened(place.store(), "two");
    expect(await piecesOf(next, "b")).toBe(many - mostPieces);
    await deleteExpired(next, noon + 4);
    expect([await piecesOf(next, "b"), await piecesOf(next, "c")]).toEqual([0, many]);
  },
);

test.each(kinds)(
  "a large file that begins again is written over, and one that fails is left to its task (%s)",
  async (kind) => {
    const store = await opened((await somePlace(kind)).store(), "one");
    await store.write(createRunning("a"));
    await withFile(store, "a", many);
    await withFile(store, "a", 2);
    expect(await piecesOf(store, "a")).toBeLessThan(many);
    const read = async (seq: number): Promise<unknown> => store.pieces?.read("task-a", "file", seq);
    expect([await read(0), await read(1)]).toEqual(["YWI=", "YWI="]);
    await store.write({ type: "cancel", now: noon + 2, id: "task-a" });
    await store.write({ type: "delete", now: noon + 3, id: "task-a" });
    await deleteLeft(store);
    expect(await piecesOf(store, "a")).toBe(0);
  },
);

test("the pieces of a task whose deletion a failover has undone stay (Postgres)", async () => {
  const store = await opened((await somePlace("Postgres")).store(), "one");
  await ended(store, "a");
  await store.write({ type: "delete", now: noon + 3, id: "task-a" });
  await store.write(createRunning("a"));
  await deleteLeft(store);
  expect(await piecesOf(store, "a")).toBe(many - mostPieces);
});

test("a server deletes what is left, reports what keeps it from that, and tries again", async () => {
  const process = new Process({ tools: { none: async () => text("") } });
  const { errors } = process;
  const { pieces } = process.store;
  if (pieces === undefined) throw new Error("The store keeps no files.");
  const answers = [true, new Error("the disk is full"), true, false];
  const asked = vi.spyOn(pieces, "deleteLeft").mockImplementation(async () => {
    const answer = answers.shift() ?? false;
    if (answer instanceof Error) throw answer;
    return answer;
  });
  await process.runtime.start();
  await vi.waitUntil(() => errors.length === 1);
  expect(asked).toHaveBeenCalledTimes(2);
  await process.clock.advance(5_000);
  await vi.waitUntil(() => answers.length === 0);
  expect(errors).toEqual([expect.objectContaining({ message: "the disk is full" })]);
  await process.runtime.stop();
});

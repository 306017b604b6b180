import { expect, test } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { MemoryBlobs } from "../kit/memory-blobs.ts";
import { sampleBytes } from "../kit/sample-bytes.ts";
import { nobody, Process, type Handler, type Setup } from "./harness.ts";

const hour = 3_600_000;

/** More than two blobs. */
const bytes = Buffer.from(sampleBytes(2_200_000));

function tool(blobs: MemoryBlobs, work: (task: TaskContext) => Promise<unknown>): Setup {
  const handler: Handler = async (_, task) => {
    await work(task);
    return { content: [] };
  };
  return { tools: { work: handler }, blobs, options: { maxBodyBytes: 10_000_000, crashBackoffMs: 0 } };
}

async function read({ runtime }: Process, id: string, from = 0, count: number | null = null) {
  const part = await runtime.artifact(id, nobody, { name: "data.bin", from, bytes: count });
  return part?.data.toString("base64");
}

/** The names of the blobs, once there are so many. */
async function until({ all }: MemoryBlobs, count: number): Promise<readonly string[]> {
  for (let round = 0; all.size !== count; round++) {
    if (round === 500) throw new Error(`There are ${all.size} blobs, not ${count}`);
    await rest();
  }
  return [...all.keys()].toSorted();
}

test("the bytes of an artifact are encrypted in blobs, and read whole and in parts", async () => {
  const blobs = new MemoryBlobs();
  const process = await Process.started(tool(blobs, (task) => task.artifact("data.bin", bytes)));
  const id = await process.callId("work");
  await process.ended(id);
  const names = await until(blobs, 3);
  expect(names.map((name) => name.replace(/[0-9a-f]{32}/g, "ID"))).toEqual(
    [0, 1, 2].map((seq) => `ID/${id}/ID.${seq}`),
  );
  for (const sealed of blobs.all.values()) {
    expect(sealed.length).toBeLessThanOrEqual(1024 * 1024);
    expect(Buffer.from(sealed).indexOf(bytes.subarray(0, 16))).toBe(-1);
  }
  expect(await read(process, id)).toBe(bytes.toString("base64"));
  expect(await read(process, id, 1_048_550, 20)).toBe(
    bytes.subarray(1_048_550, 1_048_570).toString("base64"),
  );
  expect(await read(process, id, bytes.length - 1, 5)).toBe(bytes.subarray(-1).toString("base64"));
  expect(await process.store.pieces?.read(id, "data.bin", 0)).toBe("");
});

test("a blob that was moved, changed or lost makes only its own artifact unreadable", async () => {
  const blobs = new MemoryBlobs();
  const process = await Process.started(tool(blobs, (task) => task.artifact("data.bin", bytes)));
  const [id, other] = [await process.callId("work"), await process.callId("work")];
  await process.ended(id);
  await process.ended(other);
  const names = (await until(blobs, 6)).filter((name) => name.includes(`/${id}/`));
  const theirs = (await until(blobs, 6)).filter((name) => name.includes(`/${other}/`));
  const [first = "", second = ""] = names;
  const before = blobs.all.get(first) ?? new Uint8Array();
  const damaged: readonly (Uint8Array | undefined)[] = [
    blobs.all.get(second),
    blobs.all.get(theirs[0] ?? ""),
    before.map((byte, at) => (at === 7 ? byte ^ 1 : byte)),
    before.subarray(0, -1),
    before.subarray(0, 3),
    undefined,
  ];
  for (const data of damaged) {
    if (data === undefined) blobs.all.delete(first);
    else blobs.all.set(first, data);
    await expect(read(process, id)).rejects.toMatchObject({ code: "task_unreadable" });
    expect(await read(process, other)).toBe(bytes.toString("base64"));
  }
  expect(await read(process, id, 2_100_000, 9)).toBe(bytes.subarray(2_100_000, 2_100_009).toString("base64"));
});

test("what a crash leaves behind is deleted once the task has ended, and the rest once it is gone", async () => {
  const blobs = new MemoryBlobs();
  const reached = Promise.withResolvers<void>();
  let opened = 0;
  const setup = tool(blobs, async (task) => {
    await task.artifact("data.bin", async function* () {
      yield bytes.subarray(0, 2_150_000);
      if (++opened === 1) {
        reached.resolve();
        await new Promise(() => undefined);
      }
      yield bytes.subarray(2_150_000);
    });
    await task.sleep("rest", 10 * hour);
  });
  const process = await Process.started(setup);
  const id = await process.callId("work");
  await reached.promise;
  const left = await until(blobs, 2);
  blobs.all.set("another store's/task/blob.0", new Uint8Array());
  const next = await process.crash(setup);
  await next.journalHas(id, "rest");
  await next.clock.advance(hour);
  expect(blobs.all.size).toBe(6); // the task has not ended
  expect(await read(next, id)).toBe(bytes.toString("base64"));
  await next.clock.advance(10 * hour);
  await next.ended(id);
  await next.clock.advance(hour);
  const kept = await until(blobs, 4);
  expect(kept.filter((name) => left.includes(name))).toEqual([]);
  expect(await read(next, id)).toBe(bytes.toString("base64"));
  expect(await next.runtime.delete(id, nobody)).toBeUndefined();
  await next.clock.advance(hour);
  expect(await until(blobs, 1)).toEqual(["another store's/task/blob.0"]);
  expect(next.errors).toEqual([]);
});

test("a sweep deletes nothing that is not of its store, and one blob that cannot be deleted keeps none of the others", async () => {
  const blobs = new MemoryBlobs();
  const setup = tool(blobs, (task) => task.artifact("data.bin", bytes));
  const process = await Process.started(setup);
  const id = await process.callId("work");
  await process.ended(id);
  const [store = ""] = ((await until(blobs, 3))[0] ?? "").split("/");
  const foreign = ["backup.tar", "other/task/x.0", `${store}/100%/x.0`, `${store}/.keep`];
  for (const name of [...foreign, `${store}/0-stuck/x.0`, `${store}/gone/x.0`]) blobs.all.set(name, bytes);
  blobs.list = async function* () {
    yield* [...this.all.keys()].toSorted(); // whatever the prefix is
  };
  const remove = blobs.delete.bind(blobs);
  blobs.delete = async (name) => {
    if (name.includes("stuck")) throw new Error("EACCES");
    await remove(name);
  };
  await process.clock.advance(hour);
  const left = await until(blobs, 8);
  expect(left).toEqual(expect.arrayContaining([...foreign, `${store}/0-stuck/x.0`]));
  expect(process.errors).toMatchObject([
    { message: "The blobs of this server failed to delete data: EACCES" },
  ]);
  expect(await read(process, id)).toBe(bytes.toString("base64"));
});

test("blobs that fail hold the handler up until they answer, and a process without them says so", async () => {
  const blobs = new MemoryBlobs();
  let failures = 2;
  blobs.before = (method) => {
    if (method === "put" && failures-- > 0) throw new TypeError("fetch failed");
  };
  const setup = tool(blobs, (task) => task.artifact("data.bin", bytes));
  const process = await Process.started(setup);
  const id = await process.callId("work");
  for (let round = 0; failures >= 0 && round < 100; round++) await process.clock.advance(1_000);
  await process.ended(id);
  expect(await read(process, id)).toBe(bytes.toString("base64"));
  const message = "The blobs of this server failed to store data: fetch failed";
  expect(process.errors).toMatchObject([{ code: "store_failed", message }, { message }]);
  const { blobs: _, ...without } = setup;
  const next = await process.restart(without);
  await expect(read(next, id)).rejects.toMatchObject({
    code: "configuration",
    message: `Artifact "data.bin" of task ${id} is not in the store, but in the blobs of its server. Read it through that server, or give this one the same blobs: createTasks({ store, blobs }).`,
  });
});

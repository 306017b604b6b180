import { expect, it } from "vitest";
import type { AdminAction } from "holdfast";
import { sqliteStore } from "holdfast/sqlite";
import { endTasksOf } from "../../../src/admin/store-care.ts";
import { forgetPerson, personNow, personOf, ReadRecords } from "../../../src/admin/record-reads.ts";
import { reads } from "../../../src/admin/operations.ts";
import { memoryStore } from "holdfast/memory";
import { databasePath, operated } from "./operated.ts";

const shown = (actions: readonly AdminAction[]): readonly unknown[] =>
  actions.map(({ actor, action, taskId }) => [actor, action, taskId]);

it("records once an hour who saw data of a caller, without the caller's name", async () => {
  const { remote, tasks, ended } = await operated();
  const id = await ended("ok");
  const ann = remote();
  await ann.list(); // of all callers
  await ann.list({ principal: "nobody" }); // nothing was seen
  await ann.counts();
  expect(await tasks.admin.actions()).toEqual([]);
  await ann.show(id);
  await ann.timeline(id);
  await ann.list({ principal: "carla" });
  await remote("token-of-bob").list({ principal: "carla" });
  const actions = await tasks.admin.actions();
  expect(shown(actions)).toEqual([
    ["bob", "read", null],
    ["ann", "read", null],
  ]);
  const person = expect.stringMatching(/^[0-9a-f]{32}$/) as string;
  expect(actions.map(({ detail }) => detail)).toEqual([
    { person, by: "list" },
    { person, by: "show" },
  ]);
  expect(JSON.stringify(actions)).not.toContain("carla");
  expect(await ann.actions({ principal: "carla" })).toEqual(actions);
  expect(await ann.actions({ principal: "carl" })).toEqual([]);
  await expect(ann.actions({ principal: "carla", taskId: "any" })).rejects.toMatchObject({
    code: "invalid_params",
  });
  await expect(remote("token-of-bob").actions({ principal: "carla" })).rejects.toMatchObject({
    code: "insufficient_scope",
  });
});

it("keeps what was recorded of an erased caller, and nobody can say any more whose data it was", async () => {
  const path = await databasePath();
  const { remote, tasks, ended } = await operated({ store: sqliteStore(path) });
  const id = await ended("ok");
  await remote().show(id);
  const services = {
    store: sqliteStore(path),
    now: () => Date.now(),
    actor: "ann",
    pause: async () => undefined,
  };
  await services.store.open({ id: "erases", handlers: [] });
  expect(await endTasksOf(services, "carla", 0)).toBe(true);
  await services.store.close();
  const [erased, read] = await tasks.admin.actions();
  expect([erased?.action, read?.action]).toEqual(["erase", "read"]);
  expect(read?.detail).toEqual({ ...(erased?.detail as object), by: "show" });
  expect(await tasks.admin.actions({ principal: "carla" })).toEqual([]);
  // What comes afterwards is read for the first time, once, although the same operator read in this hour before.
  const next = await ended("ok");
  await Promise.all([remote().show(next), remote().show(next), remote().timeline(next)]);
  expect(shown(await tasks.admin.actions({ principal: "carla" }))).toEqual([["ann", "read", null]]);
});

it("still finds what was recorded of all others after an erasure", async () => {
  const services = { store: memoryStore(), now: () => 0 };
  await services.store.open({ id: "own", handlers: [] });
  const others = Array.from({ length: 600 }, (_, other) => `caller ${other}`);
  const persons = await Promise.all(others.map((other) => personNow(services, other)));
  expect(new Set(persons).size).toBe(600);
  await personNow(services, "carla");
  expect(await forgetPerson(services, "carla")).toBe(true);
  expect(await personOf(services, "carla")).toBeNull();
  expect(await Promise.all(others.map((other) => personOf(services, other)))).toEqual(persons);
  await services.store.close();
});

it("shows what a store does not record, and records it at the next read", async () => {
  const store = memoryStore();
  const records = new ReadRecords({ store, now: () => 0 });
  const page = { tasks: [{}], next: null };
  const add = (): Promise<void> => records.add("ann", reads.list, { principal: "carla" }, page);
  await expect(add()).rejects.toMatchObject({ code: expect.any(String) as string }); // it is not open
  await store.open({ id: "own", handlers: [] });
  await add();
  await add();
  expect(await store.admin?.actions(null, null, 10)).toHaveLength(1);
  await store.close();
});

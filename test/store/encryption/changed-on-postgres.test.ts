import { postgresStore } from "holdfast/postgres";
import { encryptedStore, type TaskStore } from "holdfast/store";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { openedStore } from "../../../src/store/encrypted-store.ts";
import { createRunning, noon } from "../../../src/testing/sample-task.ts";
import { EmptiedSchemas } from "../../postgres/emptied-schemas.ts";
import { withClient } from "../../postgres/with-client.ts";

const keys = [{ id: "k1", key: Buffer.alloc(32, 7) }];

let schemas: EmptiedSchemas;
beforeAll(async () => {
  schemas = await EmptiedSchemas.inSharedDatabase();
});
afterAll(() => schemas[Symbol.asyncDispose]());

/** A store with keys that has a running task of ann's, and the same store as an operator without keys has it. */
async function encrypted() {
  const schema = schemas.take();
  onTestFinished(() => schemas.giveBack(schema));
  const opened = async (id: string, wrap: (store: TaskStore) => TaskStore): Promise<TaskStore> => {
    const store = wrap(postgresStore(schemas.url, { schema }));
    await store.open({ id, handlers: [] });
    onTestFinished(() => store.close());
    return store;
  };
  const store = await opened("server", (inner) => encryptedStore(inner, { keys }));
  await store.write(createRunning("a", { principal: "ann" }));
  return { store, schema, operator: () => opened("operator", (inner) => openedStore(inner, undefined)) };
}

test.each(["principal", "scope", "tool"])(
  "a row of which the column %s alone was changed cannot be read",
  async (column) => {
    const { store, schema } = await encrypted();
    await withClient(schemas.url, async (client) => {
      await client.query(`update "${schema}".task set ${column} = 'other'`);
    });
    await expect(store.get("task-a")).rejects.toMatchObject({ code: "task_unreadable" });
    expect(await store.list({ generation: "2026-07-28", principal: "other" }, null, 9, noon)).toEqual([]);
    expect(await store.unfinished("", 9)).toEqual([]);
  },
);

test("what an operator without keys has extended goes on", async () => {
  const { store, operator } = await encrypted();
  const without = await operator();
  expect(
    await without.write({ type: "extend", now: noon + 1, id: "task-a", until: noon + 999_999 }),
  ).toMatchObject({
    ok: true,
  });
  const outcome = { kind: "result", body: '{"content":[]}' } as const;
  const end = {
    type: "settle",
    now: noon + 2,
    id: "task-a",
    token: "t1",
    outcome,
    statusMessage: "done",
  } as const;
  expect(await store.write(end)).toMatchObject({ ok: true });
  expect(await store.snapshot("task-a")).toMatchObject({ outcome, task: { statusMessage: "done" } });
});

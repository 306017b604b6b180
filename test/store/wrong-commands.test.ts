import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { encryptedStore } from "../../src/store/encrypted-store.ts";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import type { TaskStore } from "../../src/store/store.ts";
import type { TaskCommand } from "../../src/task/command.ts";
import {
  askAs,
  callTool,
  createQueued,
  createRunning,
  noon,
  settleAs,
  startTask,
} from "../../src/testing/sample-task.ts";
import { someOwner } from "./sqlite/some-owner.ts";

const stores: Readonly<Record<string, () => Promise<TaskStore>>> = {
  memory: async () => memoryStore(),
  encrypted: async () => encryptedStore(memoryStore(), { keys: [{ id: "k1", key: Buffer.alloc(32, 1) }] }),
  sqlite: async () => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-wrong-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    return sqliteStore(join(folder, "tasks.db"));
  },
};

const held = { now: noon, id: "task-a", token: "t1" };

const samples: readonly TaskCommand[] = [
  createQueued("c"),
  {
    ...createRunning("d"),
    quota: { total: { unfinished: 9, retained: null }, perPrincipal: { unfinished: 9, retained: 9 } },
  },
  startTask("a"),
  callTool("a", "e"),
  askAs("a", "q"),
  settleAs("a"),
  { ...held, type: "sleep", key: "s", until: noon + 9, rest: { runAfter: noon + 9, open: 0 } },
  { ...held, type: "record_step", key: "r", value: "1", error: null },
  { ...held, type: "update", changes: { progress: { progress: 1 } } },
  {
    ...held,
    type: "append",
    lines: [{ list: "log", seq: 1, at: noon, step: "", place: 0, body: "{}" }],
    forget: [],
  },
  { type: "claim", now: noon, handlers: [{ method: "tools/call", tool: "publish" }], tokens: ["t2"] },
  { type: "extend", now: noon, id: "task-a", until: null },
  { type: "delete_expired", now: noon, limit: 9 },
];

const wrong: readonly unknown[] = [
  undefined,
  null,
  NaN,
  1.5,
  7,
  "x",
  "",
  {},
  [],
  true,
  () => 1,
  Symbol("s"),
  1n,
];

/** The command with one member, at any depth, replaced. */
function* replaced(value: unknown, by: unknown): Generator<unknown> {
  yield by;
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value))
    for (const other of replaced(member, by))
      yield Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other };
}

test.each(Object.entries(stores))("no wrong value ends the writer, or is stored (%s)", async (_, make) => {
  const store = await make();
  await store.open(someOwner());
  onTestFinished(() => store.close());
  let refused = 0;
  for (const sample of samples) {
    for (const command of wrong.flatMap((by) => [...replaced(sample, by)])) {
      const end: unknown = await store.write(command as TaskCommand).catch((error: unknown) => error);
      if (!(end instanceof Error)) continue; // it was right, or only about no task
      // With the command, so that a failure shows it.
      expect([command, end]).toMatchObject([command, { code: "invalid_params" }]);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(900);
  await store.write(createRunning("last"));
  expect(await store.write(settleAs("last", '"done"'))).toMatchObject({ ok: true });
  expect((await store.snapshot("task-last"))?.outcome).toEqual({ kind: "result", body: '"done"' });
});

test("a refusal names the member and what is allowed", async () => {
  const store = memoryStore();
  await store.open(someOwner());
  onTestFinished(() => store.close());
  const refusal = (command: unknown): Promise<string> =>
    store.write(command as TaskCommand).then(String, (error: unknown) => String(error));
  expect(await refusal({ ...settleAs("a"), now: NaN })).toBe(
    "HoldfastError: The command settle is not valid: now is NaN. Allowed: a whole number.",
  );
  expect(await refusal({ ...settleAs("a"), outcome: { kind: "done", body: "{}" } })).toContain(
    'outcome.kind is of type string. Allowed: one of "result", "error_result", "error".',
  );
  expect(await refusal({ type: "running" })).toContain("one of these types: create, start,");
});

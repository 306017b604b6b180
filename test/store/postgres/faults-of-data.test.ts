import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test, vi } from "vitest";
import { createRuntime } from "../../../src/runtime/create-runtime.ts";
import { Registry } from "../../../src/runtime/tool/registry.ts";
import { Database } from "../../../src/store/postgres/database.ts";
import { openPool } from "../../../src/store/postgres/connections.ts";
import { postgresStore } from "../../../src/store/postgres/postgres-store.ts";
import type { TaskStore } from "../../../src/store/store.ts";
import type { TaskCommand } from "../../../src/task/command.ts";
import { isTerminal } from "../../../src/task/outcome.ts";
import {
  aHandler,
  createQueued,
  createRunning,
  noon,
  sampleRequest,
  settleAs,
} from "../../../src/testing/sample-task.ts";
import { FreshSchema } from "../../postgres/test-database.ts";
import { withClient } from "../../postgres/with-client.ts";
import type { Handler } from "../../runtime/harness.ts";

// Postgres answers, and will never take what is to be written. That is no outage: whoever waited for it to pass would wait for ever.

const held = { now: noon, id: "task-a", token: "t1" } as const;
const long = randomBytes(2_000).toString("hex");
const refusedForGood = { status: "rejected", reason: { code: "store_refused" } };

async function freshSchema(): Promise<FreshSchema> {
  const fresh = await FreshSchema.inSharedDatabase();
  onTestFinished(() => fresh.drop());
  return fresh;
}

async function openStore(fresh: FreshSchema): Promise<TaskStore> {
  const store = postgresStore(fresh.url, { schema: fresh.schema });
  await store.open({ id: "one", handlers: [aHandler] });
  onTestFinished(() => store.close());
  return store;
}

/** What Postgres refuses from now on: whatever has this text in this column. */
async function forbid({ url, schema }: FreshSchema, table: string, column: string): Promise<void> {
  await withClient(url, (client) =>
    client.query(`ALTER TABLE ${schema}."${table}" ADD CHECK (${column} NOT LIKE '%forbidden%')`),
  );
}

const step = (key: string, value = "1"): TaskCommand => ({
  type: "record_step",
  ...held,
  key,
  value,
  error: null,
});

test("is said by name of each command that it concerns, and the others of its group are written", async () => {
  const fresh = await freshSchema();
  const store = await openStore(fresh);
  await forbid(fresh, "journal", "value");
  await store.write(createRunning("a"));
  const [before, tooLong, outOfRange, constrained, after, made] = await Promise.allSettled([
    store.write(step("before")),
    store.write(step(long)),
    store.write({ type: "retry_step", ...held, key: "often", error: "e", tries: 1e21, until: noon }),
    store.write(step("constrained", '"forbidden"')),
    store.write(step("after")),
    store.write(createQueued("b")),
  ]);
  for (const good of [before, after, made])
    expect(good).toMatchObject({ status: "fulfilled", value: { ok: true } });
  for (const bad of [tooLong, outOfRange, constrained]) expect(bad).toMatchObject(refusedForGood);
  const saidOf = (end: PromiseSettledResult<unknown>) => String((end as PromiseRejectedResult).reason);
  expect(saidOf(tooLong)).toMatch(
    /the command record_step of task task-a for good: index row .*put a hash in the place/,
  );
  expect(saidOf(outOfRange)).toMatch(/the command retry_step .* the database has no such text or number/);
  expect(saidOf(constrained)).toMatch(/violates check constraint .* remove a constraint that you added/);
  expect((await store.journal("task-a", "", 9)).entries.map(({ key }) => key)).toEqual(["after", "before"]);
});

test("that has no room for new tasks keeps nobody from ending and deleting those that it has", async () => {
  const fresh = await freshSchema();
  const store = await openStore(fresh);
  for (const name of ["a", "b", "c"]) await store.write(createRunning(name));
  await store.write({ type: "cancel", now: noon, id: "task-c" });
  await withClient(fresh.url, (client) =>
    client.query(`CREATE FUNCTION ${fresh.schema}.full() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
      CREATE TRIGGER full_disk BEFORE INSERT ON ${fresh.schema}.task EXECUTE FUNCTION ${fresh.schema}.full()`),
  );
  const ends = await Promise.allSettled([
    store.write(createQueued("d")),
    store.write({ type: "cancel", now: noon, id: "task-a" }),
    store.write(settleAs("b")),
    store.write(createQueued("e")),
    store.write({ type: "delete", now: noon, id: "task-c" }),
  ]);
  const message: unknown = expect.stringContaining("No space left on device");
  const full = { status: "rejected", reason: { code: "store_failed", message } };
  const done = { status: "fulfilled", value: { ok: true } };
  expect(ends).toMatchObject([full, done, done, full, done]);
});

test("is none of a session, a pause of a tool or a new task that the database would take", async () => {
  const store = await openStore(await freshSchema());
  const session = { id: "s", principal: long, expiresAt: noon, state: "{}" };
  const room = { ofPrincipal: 9, total: 9 };
  const { sessions } = store;
  if (sessions === undefined) throw new Error("no sessions");
  await expect(sessions.put(session, room)).rejects.toMatchObject({ code: "store_refused" });
  await sessions.put({ ...session, principal: "ann" }, room);
  const pause = store.write({ type: "pause_tool", now: noon, tool: long, actor: "ann" });
  await expect(pause).rejects.toMatchObject({ code: "store_refused" });
  // What other databases refuse is stored, and read as it was.
  const odd = "a\0b\ud800c\ufffe";
  await store.write(
    createRunning("a", { principal: odd, tool: odd, idempotencyKey: odd, statusMessage: odd }),
  );
  await store.write({ ...step(odd, JSON.stringify(odd)) });
  expect(await store.get("task-a")).toMatchObject({
    principal: odd,
    tool: odd,
    idempotencyKey: odd,
    statusMessage: odd,
  });
  expect(await store.journalEntry("task-a", odd)).toMatchObject({ value: JSON.stringify(odd) });
  expect(await store.request("task-a")).toMatchObject({ arguments: sampleRequest.arguments });
});

test("is found before values of more than 1 GB are sent, which would end the connection", async () => {
  const fresh = await freshSchema();
  const pool = await openPool({ url: fresh.url, max: 1, timeoutMs: 60_000 });
  await using database = Object.assign(new Database(pool, 60_000), {
    [Symbol.asyncDispose]: () => pool.end(),
  });
  const connected = vi.fn();
  pool.on("connect", connected);
  const part = "x".repeat(1_000_000);
  const values = [Array.from({ length: 501 }, () => part)];
  await expect(database.query("SELECT $1::text[]", values)).rejects.toMatchObject({ code: "store_refused" });
  expect(await database.query("SELECT 1")).toEqual([[1]]);
  await database.query("CREATE TEMPORARY TABLE written (at integer)");
  const transaction = await database.begin();
  void transaction.query("INSERT INTO written VALUES (1)");
  void transaction.query("SELECT $1::text[]", values);
  await expect(transaction.commit()).rejects.toMatchObject({ code: "store_refused" });
  expect(await database.query("SELECT * FROM written")).toEqual([]);
  expect(await database.query("SELECT cardinality($1::text[])", [["\u4e00", "b"]])).toEqual([[2]]);
  expect(connected).toHaveBeenCalledOnce();
});

async function ended(fresh: FreshSchema, handler: Handler) {
  const store = postgresStore(fresh.url, { schema: fresh.schema });
  const registry = new Registry();
  registry.add("works", {}, handler);
  const errors: unknown[] = [];
  const runtime = createRuntime({ store, registry, onError: (error) => void errors.push(error) });
  await runtime.start();
  onTestFinished(() => runtime.stop());
  await Promise.all(
    [
      ["task", "status_message"],
      ["journal", "value"],
      ["outcome", "body"],
      ["line", "body"],
    ].map(([table = "", column = ""]) => forbid(fresh, table, column)),
  );
  const origin = { capabilities: {} };
  const call = { generation: "2026-07-28", tool: "works", arguments: {}, principal: null, origin } as const;
  const { task } = await runtime.create(call);
  const end = await vi.waitUntil(
    async () => {
      const found = await store.snapshot(task.id);
      return found && isTerminal(found.task.state) && found;
    },
    { timeout: 60_000 },
  );
  return { end, errors };
}

test("rejects the step that it is in, and the handler goes on", async () => {
  const { end, errors } = await ended(await freshSchema(), async (_, task) => {
    const refused: unknown = await task.step("one", () => "forbidden").catch((error: unknown) => error);
    await task.step("two", () => "allowed");
    return { content: [{ type: "text", text: (refused as { code: string }).code }] };
  });
  expect(end.outcome).toMatchObject({ kind: "result", body: expect.stringContaining("store_refused") });
  expect(errors).toEqual([]);
});

test.each<[string, Handler]>([
  ["result", () => ({ content: [{ type: "text", text: "forbidden" }] })],
  ["error", () => Promise.reject(new Error("forbidden"))],
  ["next round", (_, task) => task.loop("round", "begins", async (_state, round) => round.next("forbidden"))],
])("of a handler's %s ends the task with an error", async (_, handler) => {
  const { end, errors } = await ended(await freshSchema(), handler);
  expect(end.outcome).toMatchObject({
    kind: "error",
    body: expect.stringContaining("The task store cannot take"),
  });
  expect(errors).toMatchObject([{ code: "store_refused" }]);
});

test("is left out where it only reports", async () => {
  const { end, errors } = await ended(await freshSchema(), async (_, task) => {
    await task.status("forbidden");
    await task.log("info", "forbidden");
    return { content: [{ type: "text", text: "done" }] };
  });
  expect(end.outcome).toMatchObject({ kind: "result", body: expect.stringContaining("done") });
  expect(errors).toMatchObject([{ code: "store_refused" }]);
});

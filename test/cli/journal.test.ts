import { copyFile, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import type { Requestor } from "../../src/runtime/runtime.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { postgresStore } from "../../src/store/postgres/postgres-store.ts";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { FreshSchema } from "../postgres/test-database.ts";
import { folder, holdfast } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

const ann: Requestor = { generation: "2026-07-28", principal: "ann" };
const question = { message: "Send it?", requestedSchema: { type: "object" as const, properties: {} } };

/** A server on a file in a new folder, or on another store, with a task that waits for an answer. */
async function waitingTask(other?: TaskStore) {
  const cwd = await folder();
  const registry = new Registry();
  const asked = Promise.withResolvers<void>();
  registry.add("send", {}, async ({ month }, task) => {
    const rows = await task.step("rows", () => [String(month), 2]);
    await task.step("log", () => undefined);
    const answer = task.elicit("ok", question);
    asked.resolve();
    return { content: [{ type: "text", text: `${(await answer).action} ${rows.length}` }] };
  });
  const runtime = createRuntime({ store: other ?? sqliteStore(join(cwd, "tasks.db")), registry });
  await runtime.start();
  onTestFinished(() => runtime.stop());
  const { task } = await runtime.create({
    ...ann,
    tool: "send",
    arguments: { month: "2026-10" },
    origin: { capabilities: { elicitation: {} }, caller: { scopes: ["mail"] } },
  });
  await asked.promise;
  await expect.poll(async () => (await runtime.get(task.id, ann)).inputs.length).toBe(1);
  return { cwd, runtime, id: task.id };
}

it("prints what is stored of a task, while its server goes on", { timeout: 30_000 }, async () => {
  const { cwd, runtime, id } = await waitingTask();
  const files = await readdir(cwd);
  const { code, stdout, stderr } = await holdfast(["journal", "export", "tasks.db", id], { cwd });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain('\n  "tool": "send",\n');
  expect(JSON.parse(stdout)).toEqual({
    format: "holdfast-journal-1",
    taskId: id,
    wireId: id,
    generation: "2026-07-28",
    method: "tools/call",
    tool: "send",
    toolVersion: 1,
    principal: "ann",
    caller: { scopes: ["mail"] },
    capabilities: { elicitation: {} },
    state: "running",
    attempt: 1,
    version: expect.any(Number) as number,
    createdAt: expect.any(Number) as number,
    arguments: { month: "2026-10" },
    entries: [
      expect.objectContaining({ key: "rows", kind: "step", value: ["2026-10", 2] }),
      expect.not.objectContaining({ value: expect.anything() as unknown }),
      expect.objectContaining({
        key: "ok",
        kind: "input",
        doneAt: null,
        request: expect.anything() as object,
      }),
    ],
  });
  expect(await readdir(cwd)).toEqual(files);
  await runtime.answer(id, ann, [{ key: "ok", value: '{"action":"accept"}' }]);
  await expect.poll(async () => (await runtime.get(id, ann)).task.state).toBe("settled");
  const ended = await runMain(["journal", "export", "sqlite:tasks.db", id, "--output", "sent.json"], { cwd });
  expect(ended).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(JSON.parse(await readFile(join(cwd, "sent.json"), "utf8"))).toMatchObject({
    state: "settled",
    entries: [{}, {}, { key: "ok", value: { action: "accept" } }],
    outcome: { kind: "result", body: { content: [{ type: "text", text: "accept 2" }] } },
  });
});

it.each([
  [["none.db", "x"], 6, /There is no file .*none\.db\./],
  [["memory:", "x"], 2, /memory: keeps its tasks inside one process/],
  [["mysql://u:secret@host/db", "x"], 2, /"mysql:\/\/…@host\/db" is not the URL of a store/],
  [
    ["postgres://u:secret@127.0.0.1:1/db", "x"],
    6,
    /^[^@]*postgres:\/\/127.0.0.1:1\/db cannot be used: .*ECONNREFUSED/,
  ],
  [["."], 2, /missing required argument 'id'/],
  [[".", "x"], 6, /is not a regular file/],
])("says of %j what is wrong", async (args, code, problem) => {
  const cwd = await folder();
  const run = await runMain(["journal", "export", ...args], { cwd });
  expect(run).toMatchObject({ code, stdout: "" });
  expect(run.stderr).toMatch(problem);
  const [store = "", id] = args;
  if (id !== undefined) {
    const others = [
      ["journal", "ls", store],
      ["admin", store, "list"],
      ["inbox", store, "chat"],
    ];
    const runs = await Promise.all(others.map(async (words) => runMain(words, { cwd })));
    expect(runs.map((each) => each.code)).toEqual([code, code, code]);
  }
  expect(await readdir(cwd)).toEqual([]);
});

it("lists the tasks that have not ended, with the versions of their tools", async () => {
  const { cwd, runtime, id } = await waitingTask();
  const listed = await runMain(["journal", "ls", "tasks.db"], { cwd });
  expect(listed).toMatchObject({ code: 0, stderr: "" });
  expect(listed.stdout).toMatch(new RegExp(`^${id}\tsend\tversion 1\twaits\t\\d{4}-\\S+Z\n$`));
  const json = await runMain(["journal", "ls", "sqlite:tasks.db", "--json"], { cwd });
  expect(JSON.parse(json.stdout)).toMatchObject({
    tasks: [{ id, tool: "send", toolVersion: 1, state: "running", waiting: true }],
  });
  await runtime.cancelNow(id, ann);
  expect(await runMain(["journal", "ls", "tasks.db"], { cwd })).toEqual({ code: 0, stdout: "", stderr: "" });
});

it("is recorded as an export, and warns where it cannot be", async () => {
  const { cwd, id } = await waitingTask();
  await runMain(["journal", "export", "tasks.db", id], { cwd });
  await runMain(["journal", "ls", "tasks.db"], { cwd });
  const { stdout } = await runMain(["admin", "tasks.db", "actions", "--principal", "ann", "--json"], { cwd });
  expect(JSON.parse(stdout)).toMatchObject({ actions: [{ action: "export", detail: { by: ["id"] } }] });
  expect(stdout).not.toContain('ann"');
  // A damaged store is read all the same.
  await copyFile(join(cwd, "tasks.db"), join(cwd, "copy.db"));
  await copyFile(join(cwd, "tasks.db-wal"), join(cwd, "copy.db-wal"));
  const db = new DatabaseSync(join(cwd, "copy.db"));
  db.exec("DROP TABLE action");
  db.close();
  const copied = await runMain(["journal", "export", "copy.db", id], { cwd });
  expect(copied).toMatchObject({ code: 0 });
  expect(copied.stderr).toMatch(/^This is not among the recorded actions: /);
});

it("reads a Postgres database, too", async () => {
  const fresh = await FreshSchema.inSharedDatabase();
  onTestFinished(() => fresh.drop());
  const { id } = await waitingTask(postgresStore(fresh.url, { schema: fresh.schema }));
  const url = new URL(fresh.url);
  url.searchParams.set("schema", fresh.schema);
  const listed = await runMain(["journal", "ls", url.href, "--json"]);
  expect(JSON.parse(listed.stdout)).toMatchObject({ tasks: [{ id, tool: "send", waiting: true }] });
  const exported = await runMain(["journal", "export", url.href, id]);
  expect(JSON.parse(exported.stdout)).toMatchObject({
    entries: [{ key: "rows" }, { key: "log" }, { key: "ok" }],
  });
  url.searchParams.set("schema", "nobodys");
  expect(await runMain(["journal", "ls", url.href])).toMatchObject({
    code: 6,
    stderr: expect.stringContaining("The database has no Holdfast tables in schema nobodys") as string,
  });
});

it("says that there is no such task, in JSON too", async () => {
  const { cwd } = await waitingTask();
  const run = await runMain(["journal", "export", "tasks.db", "nobody", "--json"], { cwd });
  expect(run).toMatchObject({ code: 5, stderr: "" });
  expect(JSON.parse(run.stdout)).toEqual({
    error: { kind: "unknown_task", message: 'The store has no task "nobody".' },
    exitCode: 5,
  });
});

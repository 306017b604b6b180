import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import type { Requestor } from "../../src/runtime/runtime.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { folder, holdfast } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

const ann: Requestor = { generation: "2026-07-28", principal: "ann" };
const question = { message: "Send it?", requestedSchema: { type: "object" as const, properties: {} } };

/** A server on a file in a new folder, with a task that waits for an answer. */
async function waitingTask() {
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
  const runtime = createRuntime({ store: sqliteStore(join(cwd, "tasks.db")), registry });
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
  [["none.db", "x"], 2, /There is no file .*none\.db\./],
  [["memory:", "x"], 2, /memory: keeps its tasks in its process/],
  [["postgres://u:secret@host/db", "x"], 2, /"postgres:\/\/…@host\/db" names no store/],
  [["."], 2, /missing required argument 'id'/],
  [[".", "x"], 2, /is not a regular file/],
])("says of %j what is wrong", async (args, code, problem) => {
  const cwd = await folder();
  const run = await runMain(["journal", "export", ...args], { cwd });
  expect(run).toMatchObject({ code, stdout: "" });
  expect(run.stderr).toMatch(problem);
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

it("says that there is no such task, in JSON too", async () => {
  const { cwd } = await waitingTask();
  const run = await runMain(["journal", "export", "tasks.db", "nobody", "--json"], { cwd });
  expect(run).toMatchObject({ code: 5, stderr: "" });
  expect(JSON.parse(run.stdout)).toEqual({
    error: { kind: "unknown_task", message: 'The store has no task "nobody".' },
    exitCode: 5,
  });
});

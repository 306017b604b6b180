import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it, vi } from "vitest";
import { connectClient, connectHttp, resultText, start } from "./client.ts";
import { serveProcess } from "./serve-process.ts";
import { newFolder } from "./stores.ts";

const example = fileURLToPath(new URL("../../examples/sdk-v1/server.ts", import.meta.url));

/** The example of the documentation over stdio, in a folder that outlives it. */
async function connectStdio(cwd: string) {
  const transport = new StdioClientTransport({ command: process.execPath, args: [example], cwd });
  const closed = new Promise<void>((resolve) => {
    transport.onclose = resolve;
  });
  const client = await connectClient(transport);
  const kill = async () => {
    if (transport.pid !== null) process.kill(transport.pid, "SIGKILL");
    await closed;
  };
  return { client, kill };
}

it("is shown by the documentation to the letter", async () => {
  const page = await readFile(new URL("../../docs/recipes/sdk-v1.md", import.meta.url), "utf8");
  const [first] = [...page.matchAll(/```ts\n([^]*?)```/g)].map(([, code]) => code);
  const code = await readFile(example, "utf8");
  expect(first).toBe(code);
  const source = await readFile(new URL("../../src/sdk-v1.ts", import.meta.url), "utf8");
  const [, comment = "none"] = /```ts\n([^]*?) \* ```/.exec(source) ?? [];
  expect(code).toContain(comment.replaceAll(/^ \* ?/gm, ""));
});

it("returns the same result after a kill, and fails the unfinished task", async () => {
  const folder = await newFolder();
  const before = await connectStdio(folder);
  const quick = await start(before.client, "render_report", { month: "2026-10", ms: 1 });
  const slow = await start(before.client, "render_report", { month: "2026-11", ms: 600_000 });
  const result = await before.client.experimental.tasks.getTaskResult(quick.taskId, CallToolResultSchema);
  const done = await before.client.experimental.tasks.getTask(quick.taskId);
  await before.kill();

  const { client } = await connectStdio(folder);
  const { tasks } = client.experimental;
  expect(await tasks.getTaskResult(quick.taskId, CallToolResultSchema)).toEqual(result);
  expect(await tasks.getTask(quick.taskId)).toEqual(done);
  expect(await tasks.getTask(slow.taskId)).toMatchObject({
    status: "failed",
    statusMessage: "The server stopped while it was working on this task, and does not resume it.",
    createdAt: slow.createdAt,
  });
  await expect(tasks.getTaskResult(slow.taskId, CallToolResultSchema)).rejects.toMatchObject({
    code: -32603,
    message: expect.stringContaining("The server stopped while it was working on this task") as string,
  });
  expect((await tasks.listTasks()).tasks.map(({ taskId }) => taskId)).toEqual([slow.taskId, quick.taskId]);
  // And the same process still works.
  const next = await start(client, "render_report", { month: "2026-12", ms: 1 });
  expect(await resultText(client, next.taskId)).toBe("the report of 2026-12");
});

it("shows a user's tasks to the user's sessions in the next process, and to no one else", async () => {
  const database = join(await newFolder(), "tasks.db");
  const [url, kill] = await serveProcess(database, "fail");
  const ann = await connectHttp(url, { authorization: "ann" });
  const { taskId } = await start(ann, "delay", { ms: 1 });
  const text = await resultText(ann, taskId);
  await kill();

  const [again] = await serveProcess(database, "fail");
  expect(await resultText(await connectHttp(again, { authorization: "ann" }), taskId)).toBe(text);
  const bob = await connectHttp(again, { authorization: "bob" });
  await expect(bob.experimental.tasks.getTask(taskId)).rejects.toMatchObject({ code: -32602 });
  await expect(resultText(bob, taskId)).rejects.toMatchObject({ code: -32602 });
  await expect(bob.experimental.tasks.cancelTask(taskId)).rejects.toMatchObject({ code: -32602 });
  expect((await bob.experimental.tasks.listTasks()).tasks).toEqual([]);
});

it("drops the questions of a dead process", async () => {
  const database = join(await newFolder(), "tasks.db");
  const [url, kill] = await serveProcess(database, "keep");
  const asker = await connectHttp(url, { authorization: "ann" });
  const { taskId } = await start(asker, "confirm_delete", { filename: "a.txt" });
  await vi.waitFor(async () => {
    expect((await asker.experimental.tasks.getTask(taskId)).status).toBe("input_required");
  });
  await kill();

  const [again] = await serveProcess(database, "keep");
  const client = await connectHttp(again, { authorization: "ann" });
  const asked: string[] = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params.message);
    return { action: "accept", content: { confirm: true } };
  });
  const { tasks } = client.experimental;
  expect((await tasks.getTask(taskId)).status).toBe("working");
  const waiting = tasks.getTaskResult(taskId, CallToolResultSchema).catch((error: unknown) => error);
  // The question of the new process comes, on a task that was made later, and no older one before it.
  const later = await start(client, "confirm_delete", { filename: "b.txt" });
  expect(await resultText(client, later.taskId)).toBe("Deleted 'b.txt'");
  expect(asked).toEqual(["Are you sure you want to delete 'b.txt'?"]);
  await tasks.cancelTask(taskId);
  expect(String(await waiting)).toContain("no result");
});

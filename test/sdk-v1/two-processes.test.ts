import { join } from "node:path";
import { ElicitRequestSchema, type Task } from "@modelcontextprotocol/sdk/types.js";
import { expect, it, vi } from "vitest";
import { connectHttp, resultText, start } from "./client.ts";
import { serveProcess } from "./serve-process.ts";
import { newFolder } from "./stores.ts";

const patience = { timeout: 20_000, interval: 50 };

/** Two servers on one file, and a client of the same user at each. */
async function twoServers(onRestart: "fail" | "keep") {
  const database = join(await newFolder(), "tasks.db");
  const [first, kill] = await serveProcess(database, onRestart);
  const [second] = await serveProcess(database, onRestart);
  const ann = await connectHttp(first, { authorization: "ann" });
  const also = await connectHttp(second, { authorization: "ann" });
  const status = async (taskId: string): Promise<Task> => also.experimental.tasks.getTask(taskId);
  return { first: ann, second: also, kill, status };
}

it("both see the tasks of both, and leave the other's alone", async () => {
  const { first, second, status } = await twoServers("fail");
  const { taskId } = await start(first, "delay", { ms: 600_000 });
  const quick = await start(first, "delay", { ms: 1 });
  expect(await resultText(second, quick.taskId)).toBe("Completed 1ms delay");
  const own = await start(second, "delay", { ms: 1 });
  expect(await resultText(first, own.taskId)).toBe("Completed 1ms delay");
  expect((await status(taskId)).status).toBe("working");
  await second.experimental.tasks.cancelTask(taskId);
  expect((await first.experimental.tasks.getTask(taskId)).status).toBe("cancelled");
});

it("the tasks of one that is killed fail in the other, and results stay", async () => {
  const { first, second, kill, status } = await twoServers("fail");
  const quick = await start(first, "delay", { ms: 1 });
  const text = await resultText(first, quick.taskId);
  const slow = await start(first, "delay", { ms: 600_000 });
  const own = await start(second, "delay", { ms: 2000 });
  await kill();
  await vi.waitFor(async () => {
    expect(await status(slow.taskId)).toMatchObject({
      status: "failed",
      statusMessage: "The server stopped while it was working on this task, and does not resume it.",
    });
  }, patience);
  expect(await resultText(second, quick.taskId)).toBe(text);
  expect(await resultText(second, own.taskId)).toBe("Completed 2000ms delay");
});

it("a question is asked where it was put, and goes with its process", async () => {
  const { first, second, kill, status } = await twoServers("keep");
  const asked: string[] = [];
  second.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params.message);
    return { action: "accept", content: { confirm: true } };
  });
  const lost = await start(first, "confirm_delete", { filename: "a.txt" });
  await vi.waitFor(async () => {
    expect((await status(lost.taskId)).status).toBe("input_required");
  }, patience);
  const waiting = resultText(second, lost.taskId).catch(String);
  const own = await start(second, "confirm_delete", { filename: "b.txt" });
  expect(await resultText(second, own.taskId)).toBe("Deleted 'b.txt'");
  expect(await resultText(first, lost.taskId)).toBe("Deleted 'a.txt'");
  expect(await waiting).toBe("Deleted 'a.txt'");

  const next = await start(first, "confirm_delete", { filename: "c.txt" });
  await vi.waitFor(async () => {
    expect((await status(next.taskId)).status).toBe("input_required");
  }, patience);
  await kill();
  await vi.waitFor(async () => {
    expect((await status(next.taskId)).status).toBe("working");
  }, patience);
  const late = resultText(second, next.taskId).catch(String);
  const last = await start(second, "confirm_delete", { filename: "d.txt" });
  expect(await resultText(second, last.taskId)).toBe("Deleted 'd.txt'");
  expect(asked).toEqual(["b.txt", "d.txt"].map((file) => `Are you sure you want to delete '${file}'?`));
  await second.experimental.tasks.cancelTask(next.taskId);
  expect(await late).toContain("no result");
});

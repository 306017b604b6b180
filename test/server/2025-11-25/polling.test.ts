import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Tasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { sqliteStore } from "holdfast/sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { questionKeyMeta } from "../../../src/generation/extensions.ts";
import { type Message, related, text } from "../../kit/messages.ts";
import { poller, type Poller, type Way } from "./poller.ts";

function tools(tasks: Tasks): void {
  tasks.tool("confirm", { onCrash: "resume" }, async (_args, task) => {
    const { content } = await task.elicit("sure", {
      message: "Sure?",
      requestedSchema: { type: "object", properties: { ok: { type: "boolean" } } },
    });
    return text(String(content?.["ok"]));
  });
}

async function start(client: Poller): Promise<string> {
  const { result } = await client.request("tools/call", { name: "confirm", arguments: {}, task: {} });
  return (result as { task: { taskId: string } }).task.taskId;
}

/** The task once it has none of `statuses` any more. */
async function pollThrough(client: Poller, taskId: string, ...statuses: string[]): Promise<Message> {
  for (;;) {
    const { result } = await client.request("tasks/get", { taskId });
    const task = result as Message;
    if (!statuses.includes(String(task["status"]))) return task;
    await pause(20);
  }
}

describe.each<Way>(["http", "stdio"])("a client that only polls, over %s", (way) => {
  it("is asked within a second, and answers before it asks for the result [A-14 A-45]", async () => {
    const client = await poller(way, memoryStore(), tools);
    const taskId = await start(client);
    expect(await pollThrough(client, taskId, "working")).toMatchObject({ status: "input_required" });
    const since = performance.now();
    while (client.asked.length === 0) await pause(5);
    expect(performance.now() - since).toBeLessThan(1_000);
    expect(client.asked).toMatchObject([
      { method: "elicitation/create", params: { _meta: related(taskId) } },
    ]);
    const [question = {}] = client.asked;
    await client.reply(question, { action: "accept", content: { ok: true } });
    expect(await pollThrough(client, taskId, "working", "input_required")).toMatchObject({
      status: "completed",
    });
    expect(await client.request("tasks/result", { taskId })).toMatchObject({ result: text("true") });
    expect(client.asked).toHaveLength(1);
  });

  it("is asked again after a restart of the server, in its new session, and under the same key [A-43]", async () => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-polling-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const store = () => sqliteStore(join(folder, "tasks.db"));
    const first = await poller(way, store(), tools);
    const taskId = await start(first);
    while (first.asked.length === 0) await pause(5);
    await first.close();

    const second = await poller(way, store(), tools);
    await pollThrough(second, taskId, "working");
    while (second.asked.length === 0) await pause(5);
    const [question = {}] = second.asked;
    expect(question["params"]).toEqual(first.asked[0]?.["params"]);
    expect(question["params"]).toMatchObject({ _meta: { [questionKeyMeta]: "sure" } });
    await second.reply(question, { action: "accept", content: { ok: false } });
    expect(await pollThrough(second, taskId, "working", "input_required")).toMatchObject({
      status: "completed",
    });
    expect(await second.request("tasks/result", { taskId })).toMatchObject({ result: text("false") });
    await second.close();
  });
});

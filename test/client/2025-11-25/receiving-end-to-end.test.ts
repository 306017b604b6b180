import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { connect, type InputRequest, type InputResult, type OnInput } from "holdfast/client";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";

const requestedSchema = { type: "object" as const, properties: { ok: { type: "boolean" as const } } };

/** A server whose tool asks twice, once the user and once the model, and its address. */
async function serve(): Promise<string> {
  const tasks = createTasks({ store: memoryStore(), pollIntervalMs: 50, stopDeadlineMs: 1 });
  tasks.tool("publish_report", {}, async (_, task) => {
    const { action } = await task.elicit("approve", { message: "Send it?", requestedSchema });
    const content = { type: "text" as const, text: "Sum up" };
    const { content: said } = await task.sample("sum", {
      messages: [{ role: "user", content }],
      maxTokens: 9,
    });
    return { content: [{ type: "text", text: `${action}: ${JSON.stringify(said)}` }] };
  });
  const http = await serveHttp(
    tasks.server(() => new McpServer({ name: "office", version: "1.0.0" })),
    { port: 0 },
  );
  onTestFinished(async () => http.close());
  return http.url;
}

/** Connects, as a process does that begins. */
async function begin(url: string, file: string, onInput: OnInput) {
  return connect(url, {
    protocolVersion: "2025-11-25",
    capabilities: { elicitation: { form: {} }, sampling: {} },
    pollFloorMs: 1,
    onInput,
    receiveTasks: { store: sqliteStore(file), pollIntervalMs: 50 },
  });
}

it("has both sides run tasks for one another in one session, through a restart of the client [C-001 A-14]", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-receiver-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "client-tasks.db");
  const url = await serve();

  const isAsked = Promise.withResolvers<InputRequest>();
  const first = await begin(url, file, (request) => {
    isAsked.resolve(request);
    return new Promise<InputResult>(() => undefined); // the user is at lunch
  });
  const { reference, taskId } = await first.startTool("publish_report");
  expect(await isAsked.promise).toMatchObject({ method: "elicitation/create", taskId });
  await first.close();

  const asked: unknown[] = [];
  const second = await begin(url, file, async ({ method }) => {
    asked.push(method);
    return method === "elicitation/create"
      ? { action: "accept", content: { ok: true } }
      : { role: "assistant", model: "none", content: { type: "text", text: "42" } };
  });
  onTestFinished(async () => second.close());
  const handle = await second.resume(reference);
  const result = await handle.result();
  expect(JSON.stringify(result.content)).toContain("accept");
  expect(JSON.stringify(result.content)).toContain("42");
  expect(asked).toEqual(["elicitation/create", "sampling/createMessage"]);
});

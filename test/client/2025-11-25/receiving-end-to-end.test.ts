import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import {
  connect,
  type InputRequest,
  type InputResult,
  type OnInput,
  type TaskReference,
} from "holdfast/client";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";

const program = fileURLToPath(new URL("receiver-process.ts", import.meta.url));
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
  tasks.tool("approve", {}, async (_, task) => {
    const { action } = await task.elicit("approve", { message: "Send it?", requestedSchema });
    return { content: [{ type: "text", text: action }] };
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

it("asks again what was open when its process was killed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-receiver-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "client-tasks.db");
  const url = await serve();
  const child = spawn(process.execPath, [program, url, file], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const said = new Set<string>();
  for await (const line of createInterface(child.stdout)) if (said.add(line).size === 2) break;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
  const reference = JSON.parse([...said].find((line) => line !== "asked") ?? "null") as TaskReference;

  let asked = 0;
  const client = await begin(url, file, async () => {
    asked++;
    return { action: "accept", content: { ok: true } };
  });
  onTestFinished(async () => client.close());
  const handle = await client.resume(reference);
  expect(await handle.result()).toMatchObject({ content: [{ text: "accept" }] });
  expect(asked).toBe(1);
});

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
  type ConnectOptions,
  type InputResult,
  type OnInput,
  type TaskClient,
  type TaskReference,
} from "holdfast/client";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it, onTestFinished } from "vitest";

const program = fileURLToPath(new URL("receiver-process.ts", import.meta.url));
const requestedSchema = { type: "object" as const, properties: { ok: { type: "boolean" as const } } };
const createdMethod = "notifications/tasks/created";
const accept = { action: "accept" as const, content: { ok: true } };
const said: InputResult = { role: "assistant", model: "none", content: { type: "text", text: "42" } };

/** With the version that has tasks of its own. */
const core = { protocolVersion: "2025-11-25", generation: "sep-1686" } as const;

interface Served {
  readonly url: string;
  readonly file: string;
  /** What clients sent to it. */
  readonly messages: string[];
  /** Resolves when a client says that it has a task. */
  readonly created: PromiseWithResolvers<void>;
}

/** A server of callers that it knows, whose tools ask the user and the model, and a file for the client's tasks. */
async function serve(): Promise<Served> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-receiver-"));
  const tasks = createTasks({ store: memoryStore(), pollIntervalMs: 50, stopDeadlineMs: 1 });
  tasks.tool("approve", {}, async (_, task) => {
    const { action } = await task.elicit("approve", { message: "Send it?", requestedSchema });
    return { content: [{ type: "text", text: action }] };
  });
  tasks.tool("sum", {}, async (_, task) => {
    const content = { type: "text" as const, text: "Sum up" };
    const answer = await task.sample("sum", { messages: [{ role: "user", content }], maxTokens: 9 });
    return { content: [{ type: "text", text: JSON.stringify(answer.content) }] };
  });
  const http = await serveHttp(
    tasks.server(() => new McpServer({ name: "office", version: "1.0.0" })),
    { port: 0, anonymous: "shared" },
  );
  onTestFinished(async () => {
    await http.close();
    await rm(folder, { recursive: true });
  });
  return {
    url: http.url,
    file: join(folder, "client-tasks.db"),
    messages: [],
    created: Promise.withResolvers(),
  };
}

/** Connects, as a process does that begins. */
async function begin(
  { url, file, messages, created }: Served,
  onInput: OnInput,
  form: ConnectOptions = core,
): Promise<TaskClient> {
  const client = await connect(url, {
    capabilities: { elicitation: { form: {} }, sampling: {} },
    pollFloorMs: 1,
    onInput,
    receiveTasks: { store: sqliteStore(file), pollIntervalMs: 50 },
    fetch: async (address, init) => {
      const body = typeof init?.body === "string" ? init.body : "";
      messages.push(body);
      if (body.includes(createdMethod)) created.resolve();
      return fetch(address, init);
    },
    ...form,
  });
  onTestFinished(async () => client.close());
  return client;
}

it.each([
  ["2025-06-18", { protocolVersion: "2025-06-18" as const }],
  ["2025-11-25", core],
])("runs tasks for a real server, in a session of %s [S-002 S-003 S-011 S-015]", async (_, form) => {
  const served = await serve();
  const client = await begin(
    served,
    async ({ method }) => (method === "elicitation/create" ? accept : said),
    form,
  );
  expect(await client.callTool("approve")).toMatchObject({ content: [{ text: "accept" }] });
  expect(JSON.stringify(await client.callTool("sum"))).toContain("42");
  expect(served.messages.filter((body) => body.includes(createdMethod))).toHaveLength(2);
});

it("asks again what was open when its process was killed, and asks it once [S-013 S-062]", async () => {
  const served = await serve();
  const { url, file } = served;
  const child = spawn(process.execPath, [program, url, file], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = new Set<string>();
  for await (const line of createInterface(child.stdout)) if (lines.add(line).size === 2) break;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
  const reference = JSON.parse([...lines].find((line) => line !== "asked") ?? "null") as TaskReference;

  let asked = 0;
  const twice = Promise.withResolvers<void>();
  const client = await begin(served, async () => {
    asked++;
    await twice.promise;
    return accept;
  });
  const handle = await client.resume(reference);
  const result = handle.result();
  // The server asks in the new session too, under another id: that is one more task here, and the same question.
  await served.created.promise;
  twice.resolve();
  expect(await result).toMatchObject({ content: [{ text: "accept" }] });
  expect(asked).toBe(1);
});

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { createTasks, type TaskServer } from "holdfast";
import { connect, type ConnectOptions, type ServerTarget, type TaskClient } from "holdfast/client";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";

const text = (words: string): { content: { type: "text"; text: string }[] } => ({
  content: [{ type: "text", text: words }],
});

/** A server that polls alone would take an hour to learn from, on a database that its successors share. */
class SharedServer {
  readonly door = Promise.withResolvers<void>();
  readonly #file: string;

  private constructor(file: string) {
    this.#file = file;
  }

  static async build(): Promise<SharedServer> {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-client-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    return new SharedServer(join(folder, "tasks.db"));
  }

  serve(): TaskServer {
    const tasks = createTasks({
      store: sqliteStore(this.#file),
      pollIntervalMs: 3_600_000,
      stopDeadlineMs: 1,
    });
    tasks.tool("ask", {}, async (_, task) => {
      const { action } = await task.elicit("approve", {
        message: "Open?",
        requestedSchema: { type: "object", properties: {} },
      });
      return text(action);
    });
    tasks.tool("wait", {}, async (_, task) => {
      await task.step("begin", async () => undefined);
      void task.status("waiting");
      await this.door.promise;
      return text("through");
    });
    return tasks.server(() => new McpServer({ name: "shared", version: "1.0.0" }));
  }
}

interface Visit {
  readonly client: TaskClient;
  readonly polls: () => number;
}

/** A client that counts its polls, where it speaks HTTP. */
async function visit(server: ServerTarget, options: ConnectOptions = {}): Promise<Visit> {
  let polls = 0;
  const counting: NonNullable<ConnectOptions["fetch"]> = async (url, init) => {
    if (new Headers(init?.headers).get("mcp-method") === "tasks/get") polls++;
    return fetch(url, init);
  };
  const onInput: NonNullable<ConnectOptions["onInput"]> = async () => ({ action: "accept", content: {} });
  const client = await connect(server, { onInput, fetch: counting, ...options });
  onTestFinished(() => client.close());
  return { client, polls: () => polls };
}

/** Waits until the task is said to be waiting, as only a push can tell. */
async function waiting(client: TaskClient): Promise<Awaited<ReturnType<TaskClient["startTool"]>>> {
  const handle = await client.startTool("wait");
  for await (const { statusMessage } of handle.updates()) if (statusMessage === "waiting") break;
  return handle;
}

it("a server over HTTP tells of questions and ends without a poll [X-085 X-088]", async () => {
  const shared = await SharedServer.build();
  const http = await serveHttp(shared.serve(), { port: 0 });
  onTestFinished(() => http.close());
  const { client, polls } = await visit(http.url);
  const results = Promise.all([client.callTool("ask"), client.callTool("ask")]);
  const handle = await waiting(client);
  const end = handle.result();
  shared.door.resolve();
  expect(await end).toEqual(text("through"));
  expect(await results).toEqual([text("accept"), text("accept")]);
  expect(polls()).toBe(0);
});

it("a server that is restarted is listened to again [X-052 X-B-024 A-26]", async () => {
  const shared = await SharedServer.build();
  const first = await serveHttp(shared.serve(), { port: 0 });
  const { client, polls } = await visit(first.url);
  const handle = await waiting(client);
  const end = handle.result();
  await first.close();
  const second = await serveHttp(shared.serve(), { port: first.port });
  onTestFinished(() => second.close());
  shared.door.resolve();
  expect(await end).toEqual(text("through"));
  expect(polls()).toBe(0);
});

it("a server on a pipe tells of questions and ends without a poll [X-085 X-B-024]", async () => {
  const shared = await SharedServer.build();
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const server = await serveStdio(shared.serve(), { stdin, stdout });
  onTestFinished(() => server.close());
  const methods: unknown[] = [];
  stdin.on("data", (chunk: Buffer) => {
    for (const line of chunk.toString().trim().split("\n")) {
      methods.push((JSON.parse(line) as { method?: string }).method);
    }
  });
  const { client } = await visit(new StdioServerTransport(stdout, stdin));
  expect(await client.callTool("ask")).toEqual(text("accept"));
  const handle = await waiting(client);
  const controller = new AbortController();
  const given = handle.result({ signal: controller.signal });
  const kept = handle.result();
  controller.abort(new Error("no patience"));
  await expect(given).rejects.toThrow("no patience");
  shared.door.resolve();
  expect(await kept).toEqual(text("through"));
  expect(methods).not.toContain("tasks/get");
  // Taken back each time that nobody waits (X-B-016).
  expect(methods.filter((method) => method === "subscriptions/listen").length).toBeGreaterThan(0);
  expect(methods).toContain("notifications/cancelled");
});

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { connect, type ConnectOptions, type TaskClient } from "holdfast/client";
import { serveHttp, type HttpServer } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod";

const requestedSchema = { type: "object" as const, properties: { ok: { type: "boolean" as const } } };

/** What the tools of one test share with the test; it outlives each server. */
class Office {
  readonly steps: string[] = [];
  readonly opened = Promise.withResolvers<void>();
  readonly begun = Promise.withResolvers<void>();
  readonly stopped = Promise.withResolvers<void>();
  readonly #file: string;
  #http: HttpServer | undefined;

  private constructor(file: string) {
    this.#file = file;
  }

  static async open(): Promise<Office> {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-client-"));
    const office = new Office(join(folder, "tasks.db"));
    await office.start();
    onTestFinished(async () => {
      await office.stop();
      await rm(folder, { recursive: true });
    });
    return office;
  }

  get url(): string {
    return this.#http?.url ?? "";
  }

  /** Starts a server on the same file, and on the same port if there was one before. */
  async start(): Promise<void> {
    const port = this.#http?.port ?? 0;
    this.#http = await serveHttp(this.#tasks().server(makeServer), { port });
  }

  async stop(): Promise<void> {
    await this.#http?.close();
  }

  async connect(options: ConnectOptions = {}): Promise<TaskClient> {
    const client = await connect(this.url, { pollFloorMs: 1, ...options });
    onTestFinished(async () => client.close());
    return client;
  }

  #tasks(): ReturnType<typeof createTasks> {
    const tasks = createTasks({ store: sqliteStore(this.#file), pollIntervalMs: 1, stopDeadlineMs: 1 });
    const inputSchema = z.object({ month: z.string() });
    tasks.tool("publish_report", { description: "Publishes", inputSchema }, async ({ month }, task) => {
      const pages = await task.step("render", async () => {
        this.steps.push("render");
        return 14;
      });
      const answer = await task.elicit("approve", {
        message: `Send ${pages} pages of ${month}?`,
        requestedSchema,
      });
      return { content: [{ type: "text", text: `${answer.action}: ${pages} pages of ${month}` }] };
    });
    tasks.tool("too_slow", { inputSchema: z.object({}), ttlMs: 20 }, (_args, task) => {
      return new Promise<never>((_, reject) => {
        task.signal.addEventListener("abort", () => reject(new Error("too late")), { once: true });
      });
    });
    tasks.tool("wait_for_door", { description: "Waits", inputSchema: z.object({}) }, async (_args, task) => {
      await task.step("begin", async () => {
        this.steps.push("begin");
        this.begun.resolve();
      });
      await Promise.race([
        this.opened.promise,
        new Promise((_resolve, reject) => {
          task.signal.addEventListener("abort", () => reject(new Error("stopped")));
        }),
      ]);
      return { content: [{ type: "text", text: "through" }] };
    });
    return tasks;
  }
}

function makeServer(): McpServer {
  const server = new McpServer({ name: "office", version: "1.0.0" });
  server.registerTool("greet", { description: "Greets", inputSchema: z.object({}) }, async () => ({
    content: [{ type: "text", text: "hello" }],
  }));
  return server;
}

describe("against a Holdfast server", () => {
  it("takes a direct answer", async () => {
    const office = await Office.open();
    const client = await office.connect();
    expect(await client.callTool("greet")).toMatchObject({ content: [{ type: "text", text: "hello" }] });
    const { tools } = await client.sdk.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["greet", "publish_report"]));
  });

  it("waits for a task, and answers its question once [X-007 X-065 X-068]", async () => {
    const office = await Office.open();
    const asked: string[] = [];
    const client = await office.connect({
      onInput: async ({ key, method, params }) => {
        asked.push(key);
        if (method === "elicitation/create") expect(params.message).toBe("Send 14 pages of 2026-10?");
        return { action: "accept", content: { ok: true } };
      },
    });
    const result = await client.callTool("publish_report", { month: "2026-10" });
    expect(result).toEqual({ content: [{ type: "text", text: "accept: 14 pages of 2026-10" }] });
    expect(asked).toHaveLength(1);
  });

  it("makes one task of a call that comes twice under one key [A-48]", async () => {
    const office = await Office.open();
    const client = await office.connect({ capabilities: { elicitation: { form: {} } } });
    const idempotencyKey = "a-key-that-nobody-can-guess";
    const first = await client.startTool("wait_for_door", {}, { idempotencyKey });
    const second = await client.startTool("wait_for_door", {}, { idempotencyKey });
    expect(second.reference).toEqual(first.reference);
    office.opened.resolve();
    expect(await second.result()).toMatchObject({ content: [{ text: "through" }] });
    expect(office.steps).toEqual(["begin"]);
  });

  it("tells a task that expired from one that failed [A-30]", async () => {
    const office = await Office.open();
    const client = await office.connect();
    await expect(client.callTool("too_slow")).rejects.toMatchObject({
      code: "expired",
      error: { code: -32603 },
    });
  });

  it("cancels a task [X-073 X-077]", async () => {
    const office = await Office.open();
    const client = await office.connect();
    const handle = await client.startTool("wait_for_door");
    const cancelling = office.begun.promise.then(() => handle.cancel());
    await expect(handle.result()).rejects.toMatchObject({ code: "cancelled" });
    await cancelling;
    await handle.cancel();
  });

  it("waits through a restart of the server, which does no step twice [X-052 X-053]", async () => {
    const office = await Office.open();
    const client = await office.connect();
    const handle = await client.startTool("wait_for_door");
    const states: string[] = [];
    const watching = (async () => {
      for await (const task of handle.updates()) states.push(task.status);
    })();
    await office.begun.promise;
    await office.stop();
    await expect(handle.get()).rejects.toMatchObject({ code: "connection" });
    await office.start();
    office.opened.resolve();
    expect(await handle.result()).toMatchObject({ content: [{ type: "text", text: "through" }] });
    await watching;
    expect(states.at(-1)).toBe("completed");
    expect(office.steps).toEqual(["begin"]);

    const later = await office.connect();
    expect(await (await later.resume(handle.reference)).result()).toMatchObject({
      content: [{ text: "through" }],
    });
  });
});

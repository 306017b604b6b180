import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { connect, type ConnectOptions, type InputRequest, type TaskClient } from "holdfast/client";
import { serveHttp, type HttpServer } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";

const requestedSchema = { type: "object" as const, properties: { ok: { type: "boolean" as const } } };

/** A server of ours on one file, which can be stopped and started again; asked in protocol 2025-11-25. */
class Office {
  readonly opened = Promise.withResolvers<void>();
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

  async start(): Promise<void> {
    const port = this.#http?.port ?? 0;
    this.#http = await serveHttp(
      this.#tasks().server(() => new McpServer({ name: "office", version: "1.0.0" })),
      { port },
    );
  }

  async stop(): Promise<void> {
    await this.#http?.close();
  }

  async connect(options: ConnectOptions = {}): Promise<TaskClient> {
    const client = await connect(this.#http?.url ?? "", {
      protocolVersion: "2025-11-25",
      pollFloorMs: 1,
      ...options,
    });
    onTestFinished(async () => client.close());
    return client;
  }

  #tasks(): ReturnType<typeof createTasks> {
    const tasks = createTasks({ store: sqliteStore(this.#file), pollIntervalMs: 50, stopDeadlineMs: 1 });
    const inputSchema = z.object({ month: z.string() });
    tasks.tool("publish_report", { inputSchema }, async ({ month }, task) => {
      const { action } = await task.elicit("approve", { message: `Send ${month}?`, requestedSchema });
      return { content: [{ type: "text", text: `${action}: ${month}` }] };
    });
    tasks.tool("wait_for_door", {}, async (_args, task) => {
      await task.step("begin", async () => undefined);
      task.progress(1); // told as soon as the session's stream is there
      const left = once(task.signal, "abort").then(() => Promise.reject(task.signal.reason as Error));
      await Promise.race([this.opened.promise, left]);
      return { content: [{ type: "text", text: "through" }] };
    });
    tasks.tool("fail", { task: "required" }, async () => ({
      content: [{ type: "text", text: "no paper" }],
      isError: true,
    }));
    tasks.tool("plain", { task: "forbidden" }, async () => ({ content: [{ type: "text", text: "here" }] }));
    return tasks;
  }
}

it("runs the tools of one server whatever they make of tasks [C-015 C-018]", async () => {
  const client = await (await Office.open()).connect();
  expect(await client.callTool("fail")).toMatchObject({ isError: true, content: [{ text: "no paper" }] });
  expect(await client.callTool("plain")).toMatchObject({ content: [{ text: "here" }] });
  expect((await client.startTool("plain")).reference).toBeNull();
});

it("is asked on the stream of the session, and answers once [C-095 C-098]", async () => {
  const asked: InputRequest[] = [];
  const client = await (
    await Office.open()
  ).connect({
    onInput: async (request) => {
      asked.push(request);
      return { action: "accept", content: { ok: true } };
    },
  });
  const handle = await client.startTool("publish_report", { month: "2026-10" });
  expect(await handle.result()).toMatchObject({ content: [{ text: "accept: 2026-10" }] });
  expect(asked).toMatchObject([{ taskId: handle.taskId, params: { message: "Send 2026-10?" } }]);
});

it("waits through a restart, and is asked again without its user", async () => {
  const office = await Office.open();
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  let questions = 0;
  const client = await office.connect({
    onInput: async () => {
      questions++;
      asked.resolve();
      await answer.promise;
      return { action: "accept", content: { ok: true } };
    },
  });
  const report = client.callTool("publish_report", { month: "2026-10" });
  const door = await client.startTool("wait_for_door");
  const through = door.result();
  await asked.promise;
  await office.stop();
  await office.start();
  answer.resolve();
  office.opened.resolve();
  expect(await report).toMatchObject({ content: [{ text: "accept: 2026-10" }] });
  expect(await through).toMatchObject({ content: [{ text: "through" }] });
  expect(questions).toBe(1);
  // What the SDK's client sends finds its way too.
  expect((await client.sdk.listTools()).tools.map(({ name }) => name)).toContain("wait_for_door");
});

it("finds a task again from another connection, and the same task under its key [A-43 A-48]", async () => {
  const office = await Office.open();
  const client = await office.connect();
  const idempotencyKey = "a-key-that-nobody-can-guess";
  const first = await client.startTool("wait_for_door", {}, { idempotencyKey });
  await client.close();
  const later = await office.connect();
  const second = await later.startTool("wait_for_door", {}, { idempotencyKey });
  expect(second.reference).toEqual(first.reference);
  office.opened.resolve();
  const found = await later.resume(first.reference);
  expect(await found.result()).toMatchObject({ content: [{ text: "through" }] });
});

it("cancels a task, asks for its ttl and hears of its progress [C-084 C-021 C-108]", async () => {
  const office = await Office.open();
  const client = await office.connect();
  const heard = Promise.withResolvers<unknown>();
  const options = { ttlMs: 90_000, onProgress: heard.resolve };
  const door = await client.startTool("wait_for_door", {}, options);
  expect(await door.get()).toMatchObject({ status: "working", ttlMs: 90_000 });
  const other = await client.startTool("wait_for_door");
  await other.cancel();
  await expect(other.result()).rejects.toMatchObject({ code: "cancelled" });
  expect(await heard.promise).toEqual({ progress: expect.any(Number) as number });
  office.opened.resolve();
  expect(await door.result()).toMatchObject({ content: [{ text: "through" }] });
});

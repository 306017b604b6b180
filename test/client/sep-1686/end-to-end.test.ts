import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FetchLike } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import {
  connect,
  memoryHandles,
  TaskClientError,
  type ConnectOptions,
  type TaskClient,
} from "holdfast/client";
import { serveHttp, type HttpServer } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod";

const requestedSchema = { type: "object" as const, properties: { ok: { type: "boolean" as const } } };
const stdioServer = fileURLToPath(new URL("../stdio-server.ts", import.meta.url));
const clientProcess = fileURLToPath(new URL("client-process.ts", import.meta.url));

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-client-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A server of ours on one file, which can be stopped and started again; all its callers are one principal. */
class Office {
  readonly opened = Promise.withResolvers<void>();
  /** How often somebody came to the door. */
  arrivals = 0;
  /** Resolves when the first one did. */
  readonly arrived = Promise.withResolvers<void>();
  readonly #file: string;
  #http: HttpServer | undefined;

  private constructor(file: string) {
    this.#file = file;
  }

  static async open(): Promise<Office> {
    const office = new Office(join(await makeFolder(), "tasks.db"));
    await office.start();
    onTestFinished(async () => office.stop());
    return office;
  }

  get url(): string {
    return this.#http?.url ?? "";
  }

  async start(): Promise<void> {
    const port = this.#http?.port ?? 0;
    const server = this.#tasks().server(() => new McpServer({ name: "office", version: "1.0.0" }));
    this.#http = await serveHttp(server, { port, anonymous: "shared" });
  }

  async stop(): Promise<void> {
    await this.#http?.close();
  }

  async connect(options: ConnectOptions = {}): Promise<TaskClient> {
    const client = await connect(this.url, { protocolVersion: "2025-06-18", pollFloorMs: 1, ...options });
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
      await task.step("begin", async () => void this.arrivals++);
      task.progress(1);
      this.arrived.resolve();
      const left = once(task.signal, "abort").then(() => Promise.reject(task.signal.reason as Error));
      await Promise.race([this.opened.promise, left]);
      return { content: [{ type: "text", text: "through" }] };
    });
    tasks.tool("plain", { task: "forbidden" }, async () => ({ content: [{ type: "text", text: "here" }] }));
    return tasks;
  }
}

/** A way to the server on which nothing comes but one answer to each request, as JSON. */
const answersAlone: FetchLike = async (url, init) => {
  if (init?.method === "GET") return new Response(null, { status: 405 });
  const response = await fetch(url, init);
  if (response.headers.get("content-type")?.includes("text/event-stream") !== true) return response;
  const events = (await response.text()).split("\n").filter((line) => line.startsWith("data: {"));
  const answer = events
    .map((line) => line.slice("data: ".length))
    .find((event) => !event.includes('"method"'));
  const headers = new Headers(response.headers);
  headers.set("content-type", "application/json");
  return new Response(answer, { headers });
};

const through = { content: [{ text: "through" }] };

describe.each([
  ["2025-06-18", { protocolVersion: "2025-06-18" as const }],
  ["2025-11-25", { protocolVersion: "2025-11-25" as const, generation: "sep-1686" as const }],
])("over HTTP, on %s", (_, options) => {
  it("runs tasks, is asked by them, and calls what is no task [S-002 S-060 S-061]", async () => {
    const asked: unknown[] = [];
    const office = await Office.open();
    const client = await office.connect({
      ...options,
      onInput: async ({ taskId }) => {
        asked.push(taskId);
        return { action: "accept", content: { ok: true } };
      },
    });
    const handle = await client.startTool("publish_report", { month: "2026-10" });
    expect(handle.reference?.generation).toBe("sep-1686");
    expect(await handle.result()).toMatchObject({ content: [{ text: "accept: 2026-10" }] });
    expect(asked).toEqual([handle.taskId]);
    expect((await client.startTool("plain")).reference).toBeNull();
  });

  it("waits through a restart that ends the session and the call [S-016]", async () => {
    const office = await Office.open();
    const client = await office.connect(options);
    const result = client.callTool("wait_for_door");
    await office.arrived.promise;
    await office.stop();
    await office.start();
    office.opened.resolve();
    expect(await result).toMatchObject(through);
    expect(office.arrivals).toBe(1);
  });

  it("asks for a time to keep, hears of progress, cancels and deletes [S-008 S-055 S-070]", async () => {
    const office = await Office.open();
    const client = await office.connect(options);
    const heard = Promise.withResolvers<unknown>();
    const door = await client.startTool("wait_for_door", {}, { ttlMs: 90_000, onProgress: heard.resolve });
    expect(await door.get()).toMatchObject({ status: "working", ttlMs: null, keepAliveMs: 90_000 });
    expect(await heard.promise).toMatchObject({ progress: 1 });
    const other = await client.startTool("wait_for_door");
    await other.cancel();
    await expect(other.result()).rejects.toMatchObject({ code: "cancelled" });
    office.opened.resolve();
    expect(await door.result()).toMatchObject(through);
    await door.delete();
    const { reference } = door;
    await client.close();
    const later = await office.connect(options);
    const gone = await later.resume(reference);
    await expect(gone.get()).rejects.toMatchObject({ code: "unknown_task" });
  });

  it("finds the task of the same key from another connection [S-023 A-19]", async () => {
    const office = await Office.open();
    const idempotencyKey = "a-key-that-nobody-can-guess";
    const client = await office.connect(options);
    const first = await client.startTool("wait_for_door", {}, { idempotencyKey });
    await client.close();
    const later = await office.connect(options);
    const second = await later.startTool("wait_for_door", {}, { idempotencyKey });
    expect(second.reference).toEqual(first.reference);
    office.opened.resolve();
    expect(await second.result()).toMatchObject(through);
    expect(office.arrivals).toBe(1);
  });
});

it("finds the task of a call whose answer was lost, and runs it once [S-023]", async () => {
  const office = await Office.open();
  let losses = 0;
  const client = await office.connect({
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      const { body } = init ?? {};
      if (losses > 0 || typeof body !== "string" || !body.includes("wait_for_door")) return response;
      losses++;
      await office.arrived.promise; // the task is there, and nobody hears of it
      await response.body?.cancel();
      throw new TypeError("fetch failed");
    },
  });
  const result = client.callTool("wait_for_door");
  await office.arrived.promise;
  office.opened.resolve();
  expect(await result).toMatchObject(through);
  expect([losses, office.arrivals]).toEqual([1, 1]);
});

it("finds its task where the server answers with JSON alone [S-018]", async () => {
  const office = await Office.open();
  const client = await office.connect({ fetch: answersAlone });
  const handle = await client.startTool("wait_for_door");
  expect(handle.reference?.generation).toBe("sep-1686");
  office.opened.resolve();
  expect(await handle.result()).toMatchObject(through);
});

it("takes up what a client left that was killed [S-023]", async () => {
  const office = await Office.open();
  const handles = join(await makeFolder(), "handles.db");
  const child = spawn(process.execPath, [clientProcess, office.url, handles], { stdio: "inherit" });
  const ended = once(child, "exit");
  await office.arrived.promise;
  child.kill("SIGKILL");
  await ended;
  const client = await office.connect({ handles });
  const [pending, ...others] = await client.pending();
  expect(others).toEqual([]);
  const handle = await pending?.take();
  office.opened.resolve();
  expect(await handle?.result()).toMatchObject(through);
  expect(office.arrivals).toBe(1);
  expect(await client.pending()).toEqual([]);
});

it("takes up on a pipe what a server left that was killed [S-023]", async () => {
  const server = { command: process.execPath, args: [stdioServer, join(await makeFolder(), "tasks.db")] };
  const handles = memoryHandles();
  const start = async (options: ConnectOptions): Promise<TaskClient> => {
    const client = await connect(server, {
      protocolVersion: "2025-06-18",
      pollFloorMs: 1,
      handles,
      ...options,
    });
    onTestFinished(async () => client.close());
    return client;
  };
  const asked = Promise.withResolvers<void>();
  const first = await start({
    onInput: async () => {
      asked.resolve();
      return new Promise(() => undefined);
    },
  });
  const greeting = first.callTool("greet");
  const lost = greeting.catch((error: unknown) => error);
  await asked.promise;
  const { content } = await first.callTool("pid");
  const [block] = content;
  process.kill(block?.type === "text" ? Number(block.text) : NaN, "SIGKILL");
  expect(await lost).toSatisfy((error) => error instanceof TaskClientError && error.code === "connection");
  const later = await start({ onInput: async () => ({ action: "accept", content: { name: "Ann" } }) });
  const [pending] = await later.pending();
  const handle = await pending?.take();
  expect(handle?.reference?.generation).toBe("sep-1686");
  expect(await handle?.result()).toMatchObject({ content: [{ text: "hello Ann" }] });
});

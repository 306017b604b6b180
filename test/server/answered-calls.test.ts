import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type Tasks } from "holdfast";
import { connect, type ConnectOptions } from "holdfast/client";
import { createNodeHandler } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { postgresStore } from "holdfast/postgres";
import { openSdkV1Tasks } from "holdfast/sdk-v1";
import { sqliteStore } from "holdfast/sqlite";
import { serveStdio } from "holdfast/stdio";
import type { TaskStore } from "holdfast/store";
import { describe, expect, it, onTestFinished } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import { text, withTasks } from "../kit/messages.ts";
import { noRateLimits } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { StdioClient } from "../kit/stdio-client.ts";
import { FreshSchema } from "../postgres/test-database.ts";
import { temporaryFolder } from "./durable-server.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const calls = 40;

/** What may still be on its way out, and what is open: the last calls, and the streams of a session. */
const most = calls / 4;

async function newStore(name: string): Promise<TaskStore> {
  if (name === "memory") return memoryStore();
  if (name === "sqlite") return sqliteStore(join(await temporaryFolder(), "tasks.db"));
  const fresh = await FreshSchema.inSharedDatabase();
  onTestFinished(() => fresh.drop());
  return postgresStore(fresh.url, { schema: fresh.schema });
}

/** What calls brought with them, by what it is. */
class Held {
  readonly #held = new Map<string, WeakRef<object>[]>();

  add(what: string, value: object): void {
    const held = this.#held.get(what) ?? [];
    held.push(new WeakRef(value));
    this.#held.set(what, held);
  }

  async expectGone(...kinds: readonly string[]): Promise<void> {
    const kept = (): number[] =>
      kinds.map((what) => this.#held.get(what)?.filter((each) => each.deref() !== undefined).length ?? 0);
    for (let round = 0; round < 100 && Math.max(...kept()) > most; round++) {
      await rest();
      collectGarbage();
    }
    for (const what of kinds) expect(this.#held.get(what)?.length).toBeGreaterThanOrEqual(calls);
    for (const count of kept()) expect(count).toBeLessThanOrEqual(most);
  }
}

async function tasksOn(store: TaskStore, held: Held): Promise<Tasks> {
  const tasks = createTasks({ store, rates: noRateLimits, stopDeadlineMs: 100, pollIntervalMs: 10 });
  tasks.tool("works", {}, async (args, task) => {
    held.add("arguments", args);
    const frame = { args, task };
    held.add("handler", frame);
    task.signal.addEventListener("abort", () => void frame.task.id);
    const done = await task.step("s", () => "done");
    void frame.args;
    return text(done);
  });
  await tasks.start();
  return tasks;
}

/** Over HTTP; the requests are among what is held. */
async function serveOn(store: TaskStore, held: Held): Promise<string> {
  const tasks = await tasksOn(store, held);
  const handler = createNodeHandler(tasks.server(() => new McpServer({ name: "reports", version: "1" })));
  const http = createServer((request, response) => {
    held.add("request", request);
    held.add("response", response);
    handler(request, response);
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(async () => {
    await handler.close();
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
}

const clients: Record<string, ConnectOptions> = {
  "2026-07-28": { protocolVersion: "2026-07-28" },
  "2025-11-25": { protocolVersion: "2025-11-25" },
  "SEP-1686": { protocolVersion: "2025-06-18" },
};

describe.each(["memory", "sqlite", "postgres"])("of answered calls on the store %s", (name) => {
  it.each(Object.keys(clients))("nothing stays where a client of %s called", async (kind) => {
    const held = new Held();
    const url = await serveOn(await newStore(name), held);
    const client = await connect(url, clients[kind]);
    onTestFinished(() => client.close());
    for (let n = 0; n < calls; n++) {
      if (n % 2 === 0) await client.callTool("works", { n });
      else await (await client.startTool("works", { n })).result();
    }
    await held.expectGone("arguments", "handler", "request", "response");
  });

  it("nothing stays where a client without tasks called, alone and in a session", async () => {
    const held = new Held();
    const url = await serveOn(await newStore(name), held);
    const stateless = new StatelessClient(url);
    const session = await SessionClient.open(url, { capabilities: {} });
    for (let n = 0; n < calls / 2; n++) {
      await stateless.send("tools/call", { name: "works", arguments: { n } }, { capabilities: {} });
      await session.call("works", { n });
    }
    await held.expectGone("arguments", "handler", "request", "response");
  });

  it("nothing stays where a client called over stdio", async () => {
    const held = new Held();
    const tasks = await tasksOn(await newStore(name), held);
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    const server = await serveStdio(
      tasks.server(() => new McpServer({ name: "reports", version: "1" })),
      { stdin, stdout },
    );
    onTestFinished(() => server.close());
    const client = new StdioClient(stdin, stdout);
    for (let n = 0; n < calls; n++) {
      const params = { name: "works", arguments: { n } };
      client.send(n, "tools/call", params, n % 2 === 0 ? withTasks : {});
      for (let got = await client.next(); got?.["id"] !== n;) got = await client.next();
    }
    await held.expectGone("arguments", "handler");
  });

  it("nothing stays where a server on SDK v1 keeps its tasks", async () => {
    const held = new Held();
    const durable = await openSdkV1Tasks({ store: await newStore(name), onRestart: "fail" });
    onTestFinished(() => durable.close());
    const { taskStore } = durable;
    for (let n = 0; n < calls; n++) {
      const request = { method: "tools/call", params: { name: "works", arguments: { n } } };
      const result = { content: [{ type: "text", text: "done" }] };
      held.add("request", request);
      held.add("result", result);
      const task = await taskStore.createTask({ ttl: 60_000 }, n, request);
      held.add("task", task);
      await taskStore.storeTaskResult(task.taskId, "completed", result);
      await taskStore.getTaskResult(task.taskId);
    }
    await held.expectGone("request", "result", "task");
  });
});

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type Admin, type Tasks, type TasksOptions } from "holdfast";
import { remoteAdmin } from "holdfast/client";
import { serveHttp, type HttpOptions, type HttpServer, type Operator } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { sqliteStore } from "holdfast/sqlite";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { onTestFinished } from "vitest";
import type { TaskStore } from "../../../src/store/store.ts";
import { text } from "../../kit/messages.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";

/** Tokens of operators: both may read. */
export const operators: Readonly<Record<string, Operator>> = {
  "token-of-ann": { actor: "ann" },
  "token-of-bob": { actor: "bob", role: "read" },
};
/** A caller's: it may call tools. */
export const callersToken = "token-of-a-caller";

export const stores: Readonly<Record<string, () => Promise<TaskStore>>> = {
  memory: async () => memoryStore(),
  sqlite: async () => sqliteStore(await databasePath()),
};

/** Of a database that is not there yet. */
export async function databasePath(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-admin-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, "tasks.db");
}

export interface Operated {
  readonly http: HttpServer;
  readonly origin: string;
  readonly tasks: Tasks;
  readonly errors: unknown[];
  readonly peer: StatelessClient;
  /** What an operator gets from the endpoint. */
  readonly remote: (token?: string) => Admin;
  /** Asks the endpoint; `body` is sent as JSON. */
  readonly ask: (method: string, path: string, asking?: Asking) => Promise<Asked>;
  /** Runs a task to its end. */
  readonly ended: (tool: string, args?: object) => Promise<string>;
}

export interface Asking {
  /** Null: none. Default ann's. */
  readonly token?: string | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Asked {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

const bearer = /^Bearer (.+)$/;
const tokenIn = ({ headers }: Request): string => bearer.exec(headers.get("authorization") ?? "")?.[1] ?? "";
const question = { message: "Go on?", requestedSchema: { type: "object" as const, properties: {} } };

export interface OperatedSetup {
  readonly store?: TaskStore;
  readonly options?: Partial<TasksOptions>;
  readonly http?: HttpOptions;
}

/** A server with an admin endpoint beside its MCP endpoint, and tools that end well, fail, ask and go on until they are cancelled. */
export async function operated({ store, options, http }: OperatedSetup = {}): Promise<Operated> {
  const errors: unknown[] = [];
  const tasks = createTasks({
    store: store ?? memoryStore(),
    stopDeadlineMs: 100,
    rates: { pollsPerInterval: null, maxLoopDelayMs: null, callsPerMinute: null },
    onError: (error) => errors.push(error),
    ...options,
  });
  tasks.tool("ok", {}, async (_args, task) => text(String(await task.step("work", () => "done"))));
  tasks.tool("fails", {}, () => {
    throw new Error("no space left on /dev/sda1");
  });
  tasks.tool("asks", {}, async (_args, task) => text(JSON.stringify(await task.elicit("go", question))));
  tasks.tool("endless", {}, async (_args, task) => {
    await task.sleep("for ever", 3_600_000);
    return text("awake");
  });
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1" }));
  const served = await serveHttp(server, {
    port: 0,
    authenticate: async (request) => (tokenIn(request) === callersToken ? "carla" : undefined),
    admin: { authenticate: async (request) => operators[tokenIn(request)] },
    ...http,
  });
  onTestFinished(() => served.close());
  const { origin } = new URL(served.url);
  const peer = new StatelessClient(served.url, (url, init) => {
    const headers = new Headers(init.headers);
    headers.set("Authorization", `Bearer ${callersToken}`);
    return fetch(url, { ...init, headers });
  });
  return {
    http: served,
    origin,
    tasks,
    errors,
    peer,
    remote: (token = "token-of-ann") => remoteAdmin(`${origin}/admin`, { token }),
    ask: (method, path, asking) => ask(`${origin}/admin${path}`, method, asking),
    async ended(tool, args) {
      const id = await peer.start(tool, args);
      await peer.ended(id);
      return id;
    },
  };
}

export async function ask(url: string, method: string, asking: Asking = {}): Promise<Asked> {
  const { token = "token-of-ann", body, headers } = asking;
  const response = await fetch(url, {
    method,
    redirect: "manual",
    headers: {
      ...(token !== null && { Authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const isStream = response.headers.get("content-type") === "text/event-stream";
  const received = isStream ? await firstData(response) : await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: received === "" ? undefined : (JSON.parse(received) as unknown),
  };
}

/** Of a stream of events, which then ends. */
async function firstData({ body }: Response): Promise<string> {
  if (body === null) throw new Error("There is no stream.");
  for await (const { data } of body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream()))
    return data;
  throw new Error("The stream had no event.");
}

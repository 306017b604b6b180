import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type Tasks, type TasksOptions } from "holdfast";
import { serveHttp, type HttpOptions, type HttpServer } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, onTestFinished } from "vitest";

export const tasksExtension = { "io.modelcontextprotocol/tasks": {} };
/** What a client that knows tasks, and forms, declares. */
export const withTasks = { elicitation: {}, extensions: tasksExtension };
export const withoutTasks = { elicitation: {} };

export interface Setup {
  readonly tools: (tasks: Tasks) => void;
  /** The author's own tools, resources and prompts. */
  readonly server?: (mcp: McpServer) => void;
  readonly http?: HttpOptions;
  readonly options?: Partial<TasksOptions>;
}

export interface Served {
  readonly http: HttpServer;
  readonly errors: unknown[];
}

/** A server on a free port of this machine, closed when the test ends. */
export async function serve({ tools, server, http, options }: Setup): Promise<Served> {
  const errors: unknown[] = [];
  // What a test leaves running is not waited for.
  const stopDeadlineMs = 100;
  const tasks = createTasks({
    store: memoryStore(),
    stopDeadlineMs,
    rates: { pollsPerInterval: null, maxLoopDelayMs: null }, // tests poll as fast as they can, and the machine may be busy with other things
    onError: (error) => errors.push(error),
    ...options,
  });
  tools(tasks);
  const factory = (): McpServer => {
    const mcp = new McpServer({ name: "reports", version: "1.2.3" });
    server?.(mcp);
    return mcp;
  };
  const served = await serveHttp(tasks.server(factory), { port: 0, ...http });
  onTestFinished(() => served.close());
  return { http: served, errors };
}

export interface WireResponse {
  readonly status: number;
  readonly headers: Headers;
  /** The JSON-RPC id. */
  readonly id: unknown;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface Sending {
  readonly capabilities?: object;
  /** Replace what a correct client would send; undefined leaves the header out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly meta?: object;
  readonly id?: string | number;
  readonly signal?: AbortSignal;
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** A client that shows what is on the wire. */
export class Peer {
  readonly #url: string;
  readonly #fetch: Fetch;
  #nextId = 1;

  constructor(url: string, fetchFunction: Fetch = fetch) {
    this.#url = url;
    this.#fetch = fetchFunction;
  }

  static async of(setup: Setup): Promise<Peer> {
    return new Peer((await serve(setup)).http.url);
  }

  async send(method: string, params: object = {}, sending: Sending = {}): Promise<WireResponse> {
    const { capabilities = withTasks, id = this.#nextId++ } = sending;
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": capabilities,
      ...sending.meta,
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: meta } });
    const headers = { ...standardHeaders(method, params), ...sending.headers };
    const given = Object.entries(headers).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    const { signal = null } = sending;
    const response = await this.#fetch(this.#url, {
      method: "POST",
      headers: Object.fromEntries(given),
      body,
      signal,
    });
    return {
      status: response.status,
      headers: response.headers,
      ...((await response.json()) as object),
    } as WireResponse;
  }

  async result(method: string, params: object = {}, sending: Sending = {}): Promise<Record<string, unknown>> {
    const { error, result } = await this.send(method, params, sending);
    expect(error).toBeUndefined();
    return result ?? {};
  }

  call(name: string, args?: object, sending?: Sending): Promise<WireResponse> {
    return this.send("tools/call", { name, ...(args === undefined ? {} : { arguments: args }) }, sending);
  }

  /** Starts a task and resolves with its id. */
  async start(name: string, args?: object, sending?: Sending): Promise<string> {
    const { result } = await this.call(name, args, sending);
    expect(result).toMatchObject({ resultType: "task", taskId: expect.any(String) as unknown });
    return result?.["taskId"] as string;
  }

  get(taskId: string, sending?: Sending): Promise<Record<string, unknown>> {
    return this.result("tasks/get", { taskId }, sending);
  }

  /** Polls until the task has one of the statuses. */
  async until(taskId: string, ...statuses: string[]): Promise<Record<string, unknown>> {
    for (;;) {
      const task = await this.get(taskId);
      if (statuses.includes(task["status"] as string)) return task;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  ended(taskId: string): Promise<Record<string, unknown>> {
    return this.until(taskId, "completed", "failed", "cancelled");
  }
}

function standardHeaders(method: string, params: object): Record<string, string> {
  const name = "name" in params ? params.name : "taskId" in params ? params.taskId : undefined;
  return {
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": method,
    ...(typeof name === "string" && name !== "" ? { "Mcp-Name": name } : {}),
  };
}

/** A result without the server's name in it. */
export function unstamped({ _meta, ...result }: Record<string, unknown>): Record<string, unknown> {
  const { "io.modelcontextprotocol/serverInfo": _, ...meta } = { ...(_meta as object | undefined) } as Record<
    string,
    unknown
  >;
  return Object.keys(meta).length === 0 ? result : { ...result, _meta: meta };
}

export function text(value: string): { content: { type: "text"; text: string }[] } {
  return { content: [{ type: "text", text: value }] };
}

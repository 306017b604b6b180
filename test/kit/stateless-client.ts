import { expect } from "vitest";
import { withTasks } from "./messages.ts";
import { serve, type Setup } from "./server.ts";

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

/** A client of revision 2026-07-28 that shows what is on the wire. */
export class StatelessClient {
  readonly #url: string;
  readonly #fetch: Fetch;
  #nextId = 1;

  constructor(url: string, fetchFunction: Fetch = fetch) {
    this.#url = url;
    this.#fetch = fetchFunction;
  }

  static async of(setup: Setup): Promise<StatelessClient> {
    return new StatelessClient((await serve(setup)).http.url);
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

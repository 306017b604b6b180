import { History, type Call, type Shown } from "../histories/history.ts";

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {
    elicitation: {},
    extensions: { "io.modelcontextprotocol/tasks": {} },
  },
};

/** A task as `tasks/get` shows it, or a direct answer; only what the suite looks at. */
export interface SeenTask {
  readonly taskId?: string;
  readonly status: string;
  readonly lastUpdatedAt: string;
  readonly statusMessage?: string;
  readonly inputRequests?: Record<string, unknown>;
  readonly result?: { readonly content: readonly [{ readonly text: string }] };
  readonly error?: { readonly code: number; readonly message: string };
}

interface Answer {
  readonly result?: SeenTask;
  readonly error?: { readonly code: number; readonly message: string };
}

interface Params {
  readonly _meta?: object;
  readonly [member: string]: unknown;
}

/** The least of clients: one request over HTTP. Rejects when the server is not there or dies before it answered, or is late. */
export class Rpc {
  readonly url: string;
  readonly #history: History;
  readonly #patienceMs: PatienceMs | undefined;
  #id = 0;

  constructor(url: string, patienceMs?: PatienceMs, history = new History()) {
    this.url = url;
    this.#history = history;
    this.#patienceMs = patienceMs;
  }

  call(name: string, args: object, key: string | undefined): Promise<SeenTask> {
    const _meta = key === undefined ? {} : { "holdfast/idempotencyKey": key };
    return this.#history.record(
      { kind: "create", key },
      () => this.#send("tools/call", name, { name, arguments: args, _meta }),
      ({ taskId: id }) => ({ kind: "create", key, id }),
    );
  }

  get(taskId: string): Promise<SeenTask> {
    const asked: Call = { kind: "read", id: taskId };
    return this.#history.record(
      asked,
      () => this.#send("tasks/get", taskId, { taskId }),
      (task) => ({ ...asked, shown: shownBy("tasks/get", task) }),
      (error) => (isUnknown(error) ? { ...asked, shown: "unknown" } : asked),
    );
  }

  update(taskId: string, inputResponses: object): Promise<SeenTask> {
    return this.#send("tasks/update", taskId, { taskId, inputResponses });
  }

  cancel(taskId: string): Promise<SeenTask> {
    const asked: Call = { kind: "request cancel", id: taskId };
    return this.#history.record(
      asked,
      () => this.#send("tasks/cancel", taskId, { taskId }),
      () => ({ ...asked, outcome: "acknowledged" }),
    );
  }

  async #send(method: string, name: string, params: Params): Promise<SeenTask> {
    const response = await fetch(this.url, {
      method: "POST",
      signal: patience(this.#patienceMs),
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        "mcp-name": name,
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: ++this.#id,
        method,
        params: { ...params, _meta: { ...meta, ...params._meta } },
      }),
    });
    const { result, error } = (await response.json()) as Answer;
    if (result === undefined) throw new RpcError(`${method} ${name}`, error);
    return result;
  }
}

/** How long clients wait for an answer now (ms). */
export type PatienceMs = () => number;

export function patience(ms: PatienceMs | undefined): AbortSignal | null {
  return ms === undefined ? null : AbortSignal.timeout(ms());
}

/** The server answered, and refused: never to be confused with a server that died. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number | undefined;

  constructor(what: string, error?: { readonly code: number }) {
    super(error === undefined ? what : `${what}: ${JSON.stringify(error)}`);
    this.code = error?.code;
  }
}

/** That there is no such task. */
export function isUnknown(error: unknown): boolean {
  return error instanceof RpcError && error.code === -32_602;
}

const terminal: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

export function hasEnded({ status }: SeenTask): boolean {
  return terminal.has(status);
}

/** What a method shows of a task. */
export function shownBy(by: Shown["by"], task: SeenTask): Shown {
  const { status, inputRequests = {} } = task;
  return {
    by,
    text: JSON.stringify(task),
    status,
    isFinal: hasEnded(task),
    asks: Object.keys(inputRequests),
  };
}

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
  readonly #patienceMs: number | undefined;
  #id = 0;

  constructor(url: string, patienceMs?: number) {
    this.url = url;
    this.#patienceMs = patienceMs;
  }

  call(name: string, args: object, idempotencyKey: string | undefined): Promise<SeenTask> {
    const _meta = idempotencyKey === undefined ? {} : { "holdfast/idempotencyKey": idempotencyKey };
    return this.#send("tools/call", name, { name, arguments: args, _meta });
  }

  get(taskId: string): Promise<SeenTask> {
    return this.#send("tasks/get", taskId, { taskId });
  }

  update(taskId: string, inputResponses: object): Promise<SeenTask> {
    return this.#send("tasks/update", taskId, { taskId, inputResponses });
  }

  cancel(taskId: string): Promise<SeenTask> {
    return this.#send("tasks/cancel", taskId, { taskId });
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
    if (result === undefined) throw new RpcError(`${method} ${name}: ${JSON.stringify(error)}`);
    return result;
  }
}

export function patience(ms: number | undefined): AbortSignal | null {
  return ms === undefined ? null : AbortSignal.timeout(ms);
}

/** The server answered, and refused: never to be confused with a server that died. */
export class RpcError extends Error {
  override readonly name = "RpcError";
}

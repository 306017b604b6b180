/** What a client must know before it can build its requests. */
const capabilities = { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };
const clientInfo = { name: "bench", version: "1.0.0" };

function post(url: string, headers: Readonly<Record<string, string>>, message: object): Buffer {
  const { host, pathname } = new URL(url);
  const body = JSON.stringify({ jsonrpc: "2.0", ...message });
  const lines = Object.entries({
    host,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...headers,
    "content-length": String(Buffer.byteLength(body)),
  }).map(([name, value]) => `${name}: ${value}`);
  return Buffer.from(`POST ${pathname} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`);
}

/** The bytes of requests in one form of MCP. */
export interface Requests {
  call(tool: string, args: object): Buffer;
  get(taskId: string): Buffer;
}

/** Requests of revision 2026-07-28, which are independent of one another. */
export class StatelessRequests implements Requests {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  readonly #capabilities: object;

  /** `principal`: if the server distinguishes callers. `declared`: what the client can do. */
  constructor(url: string, principal?: string, declared: object = capabilities) {
    this.#url = url;
    this.#headers = principal === undefined ? {} : { authorization: principal };
    this.#capabilities = declared;
  }

  call(tool: string, args: object): Buffer {
    return this.#request("tools/call", { name: tool, arguments: args }, tool);
  }

  get(taskId: string): Buffer {
    return this.#request("tasks/get", { taskId }, taskId);
  }

  answer(taskId: string, key: string, answer: object): Buffer {
    return this.#request("tasks/update", { taskId, inputResponses: { [key]: answer } }, taskId);
  }

  listen(taskIds: readonly string[]): Buffer {
    return this.#request("subscriptions/listen", { notifications: { taskIds } });
  }

  #request(method: string, params: object, name?: string): Buffer {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": clientInfo,
      "io.modelcontextprotocol/clientCapabilities": this.#capabilities,
    };
    const headers = {
      ...this.#headers,
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(name !== undefined && { "mcp-name": name }),
    };
    return post(this.#url, headers, { id: 1, method, params: { ...params, _meta } });
  }
}

/** Requests of revision 2025-11-25 in a session. A call asks for a task, unless it is plain. */
export class SessionRequests implements Requests {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, sessionId: string) {
    this.#url = url;
    this.#headers = { "mcp-session-id": sessionId, "mcp-protocol-version": "2025-11-25" };
  }

  static initialize(url: string): Buffer {
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    return post(url, {}, { id: 1, method: "initialize", params });
  }

  initialized(): Buffer {
    return post(this.#url, this.#headers, { method: "notifications/initialized" });
  }

  call(tool: string, args: object): Buffer {
    return this.#request("tools/call", { name: tool, arguments: args, task: { ttl: 3_600_000 } });
  }

  plainCall(tool: string, args: object): Buffer {
    return this.#request("tools/call", { name: tool, arguments: args });
  }

  get(taskId: string): Buffer {
    return this.#request("tasks/get", { taskId });
  }

  result(taskId: string): Buffer {
    return this.#request("tasks/result", { taskId });
  }

  #request(method: string, params: object): Buffer {
    return post(this.#url, this.#headers, { id: 1, method, params });
  }
}

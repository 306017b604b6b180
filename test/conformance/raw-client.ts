import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";

const answer = z.looseObject({
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.looseObject({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
});

export type Answer = z.infer<typeof answer> & { readonly httpStatus: number };

export const withTasks = {
  elicitation: {},
  sampling: {},
  extensions: { "io.modelcontextprotocol/tasks": {} },
};

/** A client of 2026-07-28 that shows every answer as it came. */
export class RawClient {
  readonly #url: string;
  readonly #capabilities: object;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, capabilities: object = withTasks, headers: Readonly<Record<string, string>> = {}) {
    this.#url = url;
    this.#capabilities = capabilities;
    this.#headers = headers;
  }

  call(name: string, args: object = {}, more: object = {}): Promise<Answer> {
    return this.request("tools/call", { name, arguments: args, ...more }, name);
  }

  /** The id of the task that the call became. */
  async start(name: string, args: object = {}, more: object = {}): Promise<string> {
    const { result, error } = await this.call(name, args, more);
    if (typeof result?.["taskId"] === "string") return result["taskId"];
    throw new Error(`${name} became no task: ${JSON.stringify(error ?? result)}`);
  }

  async get(taskId: string): Promise<Record<string, unknown>> {
    const { result, error } = await this.request("tasks/get", { taskId }, taskId);
    if (result === undefined) throw new Error(`No task: ${error?.message}`);
    return result;
  }

  cancel(taskId: string): Promise<Answer> {
    return this.request("tasks/cancel", { taskId }, taskId);
  }

  update(taskId: string, inputResponses: object): Promise<Answer> {
    return this.request("tasks/update", { taskId, inputResponses }, taskId);
  }

  /** The task once it has one of `statuses`, by default once it has ended. */
  async until(taskId: string, statuses = ["completed", "failed", "cancelled"]) {
    for (;;) {
      const task = await this.get(taskId);
      if (statuses.includes(String(task["status"]))) return task;
      await delay(20);
    }
  }

  async request(method: string, params: object = {}, name = ""): Promise<Answer> {
    const response = await this.send(method, params, name);
    return { ...answer.parse(await response.json()), httpStatus: response.status };
  }

  send(method: string, params: object = {}, name = ""): Promise<Response> {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": this.#capabilities,
    };
    return fetch(this.#url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        ...(name !== "" && { "mcp-name": name }),
        ...this.#headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
    });
  }
}

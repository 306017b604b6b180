import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { McpError, ResultSchema } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";

export const relatedTaskKey = "io.modelcontextprotocol/related-task";

/** A task as 2025-11-25 has it on the wire. */
const task = z.object({
  taskId: z.string().min(1),
  status: z.enum(["working", "input_required", "completed", "failed", "cancelled"]),
  statusMessage: z.string().optional(),
  createdAt: z.iso.datetime({ offset: true }),
  lastUpdatedAt: z.iso.datetime({ offset: true }),
  ttl: z.number().nullable(),
  pollInterval: z.number().optional(),
});

export type Task = z.infer<typeof task>;
export type Json = Readonly<Record<string, unknown>>;

/** Throws an error that says what is wrong with `value`. */
export function asTask(what: string, value: unknown): Task {
  const read = task.safeParse(value);
  if (read.success) return read.data;
  const wrong = read.error.issues.map(({ path, message }) => `${path.join(".") || "it"}: ${message}`);
  throw new Error(`${what} is no Task (${wrong.join(", ")}): ${JSON.stringify(value)}`);
}

export function relatedTask(carrier: unknown): unknown {
  const meta = z.looseObject({ _meta: z.record(z.string(), z.unknown()).optional() }).parse(carrier)._meta;
  return meta?.[relatedTaskKey];
}

/** A session of 2025-11-25. Upstream: `connectToServer` of `src/connection/sdk-client.ts`. */
export class Session {
  readonly client = new Client(
    { name: "conformance-test-client", version: "1.0.0" },
    { capabilities: { elicitation: {} } },
  );
  /** The params of the status notifications that have come. */
  readonly notified: Json[] = [];
  readonly #transport: StreamableHTTPClientTransport;

  private constructor(serverUrl: string) {
    this.#transport = new StreamableHTTPClientTransport(new URL(serverUrl));
    this.client.fallbackNotificationHandler = async ({ method, params }) => {
      if (method === "notifications/tasks/status") this.notified.push(params ?? {});
    };
  }

  static async open(serverUrl: string): Promise<Session> {
    const session = new Session(serverUrl);
    // The SDK's own types differ in optional properties.
    const transport: object = session.#transport;
    await session.client.connect(transport as Transport);
    return session;
  }

  request(method: string, params: Json = {}): Promise<Json> {
    return this.client.request({ method, params: { ...params } }, ResultSchema);
  }

  /** The task that a call becomes. */
  async start(name: string, args: Json): Promise<Task> {
    const result = await this.request("tools/call", { name, arguments: args, task: { ttl: 60_000 } });
    return asTask("CreateTaskResult.task", result["task"]);
  }

  async get(taskId: string): Promise<Task> {
    return asTask("The result of tasks/get", await this.request("tasks/get", { taskId }));
  }

  /** What is wrong with how a request is refused: not at all, or with another code. */
  async refused(code: number, method: string, params: Json): Promise<string[]> {
    try {
      await this.request(method, params);
      return [`${method} was answered, not refused with ${code}`];
    } catch (error) {
      if (!(error instanceof McpError)) throw error;
      return error.code === code ? [] : [`${method} was refused with ${error.code}, not ${code}`];
    }
  }

  async close(): Promise<void> {
    await this.#transport.terminateSession().catch(() => undefined);
    await this.client.close();
  }
}

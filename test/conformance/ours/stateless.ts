import { EventSourceParserStream } from "eventsource-parser/stream";
import * as z from "zod";

export const tasksExtension = "io.modelcontextprotocol/tasks";
const specVersion = "2026-07-28";

const message = z.looseObject({
  id: z.union([z.number(), z.string()]).nullish(),
  method: z.string().optional(),
  params: z.record(z.string(), z.unknown()).optional(),
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.looseObject({ code: z.number(), data: z.unknown().optional() }).optional(),
});

export type Message = z.infer<typeof message>;

export const withTasks = { elicitation: {}, extensions: { [tasksExtension]: {} } };

/** Sends one request of 2026-07-28. Upstream: `sendStatelessRequest` of `src/connection/stateless.ts`. */
export async function send(
  serverUrl: string,
  method: string,
  params: object,
  capabilities: object = withTasks,
): Promise<Message> {
  const response = await post(serverUrl, 1, method, params, capabilities);
  if (!isStream(response)) return message.parse(await response.json());
  for await (const event of messagesOf(response)) if (event.id === 1) return event;
  throw new Error(`${method} was not answered`);
}

/** The result of a request that has to have one. */
export async function resultOf(
  serverUrl: string,
  method: string,
  params: object,
): Promise<Readonly<Record<string, unknown>>> {
  const { result, error } = await send(serverUrl, method, params);
  if (result === undefined) throw new Error(`${method} was refused: ${JSON.stringify(error)}`);
  return result;
}

/** What comes on a stream of `subscriptions/listen`, until it is closed. */
export class ListenStream {
  readonly id = 77;
  readonly received: Message[] = [];
  readonly #ended = new AbortController();

  static async open(serverUrl: string, notifications: object): Promise<ListenStream> {
    const stream = new ListenStream();
    const response = await post(
      serverUrl,
      stream.id,
      "subscriptions/listen",
      { notifications },
      withTasks,
      stream.#ended.signal,
    );
    if (!isStream(response)) throw new Error(`subscriptions/listen was answered: ${await response.text()}`);
    void stream.#read(response);
    return stream;
  }

  close(): void {
    this.#ended.abort();
  }

  /** The params of what came with this method. */
  of(method: string): Readonly<Record<string, unknown>>[] {
    return this.received.filter((received) => received.method === method).map(({ params }) => params ?? {});
  }

  async #read(response: Response): Promise<void> {
    try {
      for await (const received of messagesOf(response)) this.received.push(received);
    } catch (error) {
      if (!this.#ended.signal.aborted) throw error;
    }
  }
}

function post(
  serverUrl: string,
  id: number,
  method: string,
  params: object,
  capabilities: object,
  signal?: AbortSignal,
): Promise<Response> {
  const { name, taskId } = params as { name?: string; taskId?: string };
  const routed = name ?? taskId;
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": specVersion,
    "io.modelcontextprotocol/clientInfo": { name: "conformance-test-client", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
  return fetch(serverUrl, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": specVersion,
      "mcp-method": method,
      ...(routed !== undefined && { "mcp-name": routed }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta } }),
    signal: signal ?? null,
  });
}

function isStream(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/event-stream") === true;
}

async function* messagesOf({ body }: Response): AsyncGenerator<Message> {
  if (body === null) return;
  const events = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  for await (const { data } of events) if (data !== "") yield message.parse(JSON.parse(data));
}

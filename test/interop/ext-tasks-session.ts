import {
  Client,
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  StreamableHTTPClientTransport,
  type JSONRPCMessage,
  type JSONRPCRequest,
} from "@modelcontextprotocol/client";
import {
  createTaskSessionFromClient,
  type ApplicationInputHandler,
  type DispatchOptions,
  type JsonRpcResponse,
  type TaskEnabledSession,
} from "@modelcontextprotocol/ext-tasks/client";
import { toJsonValue, type JsonValue } from "@modelcontextprotocol/ext-tasks/core";
import { expect, onTestFinished } from "vitest";

/** References of one endpoint are good for every session that names it, whatever port the server has. */
const endpointId = "reports";

export interface SessionSetup {
  readonly onInputRequest?: ApplicationInputHandler["handle"];
}

/** The requester session of ext-tasks on the SDK's client; both are closed when the test ends. */
export async function openSession(url: string, setup: SessionSetup = {}): Promise<TaskEnabledSession> {
  const clientInfo = { name: "report-desk", version: "0.1.0" };
  const capabilities = { elicitation: { form: {} } };
  const protocolVersion = "2026-07-28";
  const client = new Client(clientInfo, {
    capabilities,
    versionNegotiation: { mode: { pin: protocolVersion } },
  });
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  const errors: Error[] = [];
  const session = createTaskSessionFromClient(client, {
    ...setup,
    endpointId,
    rawDispatch: rawDispatch(transport),
    v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities: capabilities },
    onError: (error) => errors.push(error),
  });
  onTestFinished(async () => {
    await session.close();
    await client.close();
    expect(errors).toEqual([]);
  });
  return session;
}

/**
 * What the session asks its host for: requests on the client's connection whose results are left unread, since the
 * SDK's client takes no task for an answer. Has to be called after the client has connected.
 */
function rawDispatch(transport: StreamableHTTPClientTransport) {
  const pending = new Map<unknown, (response: JsonRpcResponse) => void>();
  const toClient = transport.onmessage;
  transport.onmessage = (message: JSONRPCMessage) => {
    const isResult = isJSONRPCResultResponse(message);
    const settle = isResult || isJSONRPCErrorResponse(message) ? pending.get(message.id) : undefined;
    if (settle === undefined) toClient?.(message);
    else if (isResult) settle({ kind: "result", result: toJsonValue(message.result) });
    else if (isJSONRPCErrorResponse(message)) settle({ kind: "error", error: errorOf(message.error) });
  };
  let sent = 0;
  return async (request: JsonValue, { signal, context }: DispatchOptions = {}): Promise<JsonRpcResponse> => {
    const id = `raw-${++sent}`;
    const { promise, resolve, reject } = Promise.withResolvers<JsonRpcResponse>();
    const onAbort = (): void => reject(signal?.reason as Error);
    signal?.throwIfAborted();
    signal?.addEventListener("abort", onAbort, { once: true });
    pending.set(id, resolve);
    const message = { jsonrpc: "2.0", id, ...(request as object) } as JSONRPCRequest;
    transport
      .send(message, {
        ...(context?.headers && { headers: context.headers }),
        ...(signal && { requestSignal: signal }),
      })
      .catch(reject);
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", onAbort);
      pending.delete(id);
    }
  };
}

function errorOf({ code, message, data }: { code: number; message: string; data?: unknown }) {
  return { code, message, ...(data !== undefined && { data: toJsonValue(data) }) };
}

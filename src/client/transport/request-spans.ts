import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  PROTOCOL_VERSION_META_KEY,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
  type TransportSendOptions,
} from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import {
  type ClientRequestOutcome,
  type ClientRequestSpan,
  type ClientTracing,
  traceOf,
  withTrace,
} from "../client-events.ts";
import { sendFailure } from "./send-failure.ts";
import type { ServerConnection } from "./server-connection.ts";

interface OpenRequest {
  readonly method: string;
  readonly span: ClientRequestSpan;
  readonly given: AbortSignal | undefined;
  readonly onAbort: () => void;
}

/**
 * The traces of all requests of a connection, of the SDK's client and of this one. Each message is one span, which ends with its answer; the
 * server's spans are its children.
 */
export class RequestSpans {
  protocolVersion: string | undefined;
  readonly #connection: ServerConnection;
  readonly #tracing: ClientTracing;
  readonly #open = new Map<RequestId, OpenRequest>();
  #isClosing = false;

  constructor(connection: ServerConnection, tracing: ClientTracing) {
    this.#connection = connection;
    this.#tracing = tracing;
  }

  /** Sends a message, and begins the span of a request. */
  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const { transport } = this.#connection;
    if (!isJSONRPCRequest(message)) {
      this.#endCancelled(message);
      return transport.send(message, options);
    }
    const { id } = message;
    const { span } = this.#begin(message, options?.requestSignal);
    const { context } = span;
    const params = context === undefined ? message.params : withTrace(message.params, context);
    const onRequestStreamEnd = (): void => {
      this.#end(id, noAnswer);
      options?.onRequestStreamEnd?.();
    };
    try {
      await span.run(() =>
        transport.send({ ...message, ...(params && { params }) }, { ...options, onRequestStreamEnd }),
      );
      // Over HTTP the answer has arrived by now, unless it comes on a stream.
      if (this.#connection.responses?.get(String(id))?.streams === false) this.#end(id, noAnswer);
    } catch (error) {
      this.#end(id, outcomeOfFailure(error));
      throw error;
    }
  }

  /** Closes the connection. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#connection.transport.close();
    this.endAll();
  }

  #begin({ id, method, params }: JSONRPCRequest, given: AbortSignal | undefined): OpenRequest {
    const span = this.#tracing.request({
      method,
      id,
      tool: method === "tools/call" ? textIn(params, "name") : undefined,
      prompt: method === "prompts/get" ? textIn(params, "name") : undefined,
      taskId: method.startsWith("tasks/") ? textIn(params, "taskId") : undefined,
      peer: this.#connection.peer,
      protocolVersion: textIn(params?._meta, PROTOCOL_VERSION_META_KEY) ?? this.protocolVersion,
      trace: traceOf(params),
    });
    const onAbort = (): void => this.#end(id, cancelled);
    given?.addEventListener("abort", onAbort, { once: true });
    const open = { method, span, given, onAbort };
    this.#open.set(id, open);
    return open;
  }

  received(message: JSONRPCMessage): void {
    // A server may also end a stream of notifications by cancelling its request.
    if (isJSONRPCNotification(message)) return this.#endCancelled(message, {});
    if (isJSONRPCErrorResponse(message)) {
      const { code, message: text } = message.error;
      if (message.id !== undefined) this.#end(message.id, { code, message: text });
    } else if (isJSONRPCResultResponse(message)) {
      const isCall = this.#open.get(message.id)?.method === "tools/call";
      if (isCall) this.#end(message.id, outcomeOfCall(message.result));
      else this.#end(message.id, {});
    }
  }

  #endCancelled(message: JSONRPCMessage, outcome: ClientRequestOutcome = cancelled): void {
    if (!isJSONRPCNotification(message) || message.method !== "notifications/cancelled") return;
    const id = message.params?.["requestId"];
    if (typeof id === "string" || typeof id === "number") this.#end(id, outcome);
  }

  #end(id: RequestId, outcome: ClientRequestOutcome): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#open.delete(id);
    open.given?.removeEventListener("abort", open.onAbort);
    open.span.end(outcome);
  }

  /** No answer comes any more. */
  endAll(): void {
    for (const id of this.#open.keys()) this.#end(id, this.#isClosing ? cancelled : noAnswer);
  }
}

const cancelled: ClientRequestOutcome = { isCancelled: true };
const noAnswer: ClientRequestOutcome = { failure: "connection", message: "No answer arrived" };

function outcomeOfCall(result: JsonObject): ClientRequestOutcome {
  const task = isJsonObject(result["task"]) ? result["task"] : result;
  return { taskId: textIn(task, "taskId"), isToolError: result["isError"] === true };
}

function outcomeOfFailure(error: unknown): ClientRequestOutcome {
  const reply = sendFailure(error);
  if (reply.kind === "error") return { code: reply.error.code, message: reply.error.message };
  return { failure: reply.kind === "lost" ? "connection" : reply.code, message: reply.message };
}

function textIn(given: JsonObject | undefined, name: string): string | undefined {
  const value = given?.[name];
  return typeof value === "string" ? value : undefined;
}

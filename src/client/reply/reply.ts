import type { JsonRpcError } from "../../task/outcome.ts";

/** The request may not have been answered, but a repeat can be: nothing listens, the line broke, 429, 5xx. */
export interface LostReply {
  readonly kind: "lost";
  /** Whether it is certain that the server did not begin to act on the request. */
  readonly notReceived: boolean;
  /** Milliseconds that the server asked to wait before the next try. */
  readonly retryAfterMs: number | undefined;
  readonly message: string;
  readonly cause: unknown;
  /** The JSON-RPC error in the body of an HTTP 429 or 5xx. */
  readonly error: JsonRpcError | undefined;
}

/** Neither an answer nor worth a repeat. */
export interface BadReply {
  readonly kind: "bad";
  readonly code: "connection" | "unauthorized" | "protocol";
  readonly message: string;
  readonly cause?: unknown;
  /** The task that the answer names although it breaks the protocol. */
  readonly taskId?: string | undefined;
}

export interface ErrorReply {
  readonly kind: "error";
  readonly error: JsonRpcError;
}

export interface ValueReply<Value> {
  readonly kind: "value";
  readonly value: Value;
  /** Milliseconds that the server asked to be left alone for; it may say so with an answer too. */
  readonly retryAfterMs?: number | undefined;
}

/** What became of one request. Whoever sent it decides whether to repeat; an aborted signal throws instead. */
export type Reply<Value> = ValueReply<Value> | ErrorReply | LostReply | BadReply;

/** The same reply, its value read more closely; what `read` cannot accept becomes a violation of the protocol. */
export function readReply<From, To>(reply: Reply<From>, read: (value: From) => To | Violation): Reply<To> {
  if (reply.kind !== "value") return reply;
  const value = read(reply.value);
  if (!(value instanceof Violation)) return { ...reply, value };
  const { message, taskId } = value;
  return { kind: "bad", code: "protocol", message, taskId };
}

/** Why an answer cannot be accepted. Returned, not thrown. */
export class Violation {
  readonly message: string;
  /** The task that it names all the same. */
  readonly taskId: string | undefined;

  constructor(message: string, taskId?: string) {
    this.message = message;
    this.taskId = taskId;
  }
}

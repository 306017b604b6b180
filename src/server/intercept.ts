import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type McpServer,
  type MessageExtraInfo,
  type Transport,
} from "@modelcontextprotocol/server";
import type { ErrorOf } from "./answer.ts";
import type { Exchanges } from "./exchanges.ts";
import type { Gate } from "./gate.ts";

/** Sends past the SDK. */
export type Send = Transport["send"];

/** What sees all messages of a connection, for one that talks to its client past the SDK. */
export interface Tap {
  connected(send: Send): void;
  /** True for a message that the SDK is not to see. */
  received(message: JSONRPCMessage): boolean;
  /** The message to send instead of `message`. */
  sending(message: JSONRPCMessage): JSONRPCMessage;
  /** After the transport took the message. */
  sent(message: JSONRPCMessage): void;
  /** The transport did not take the message. */
  unsent(message: JSONRPCMessage): void;
  closed(): void;
}

/** Shows a message to the SDK. */
export type Forward = (message: JSONRPCMessage) => void;

/** Answers requests in the SDK's stead. */
export interface Holder {
  /** True for a request that it answers; one that it forwards the SDK answers to `answered`. */
  holds(request: JSONRPCRequest, forward: Forward): boolean;
  /** True for an answer of the SDK that is not to be sent. */
  answered(message: JSONRPCMessage): boolean;
}

export interface Interception {
  readonly exchanges: Exchanges;
  readonly gate: Gate;
  readonly errorOf: ErrorOf;
  readonly tap?: Tap;
  readonly holder?: Holder;
}

/**
 * Puts `gate` before and `exchanges` behind the SDK on every connection of `mcp`. The SDK offers no such place:
 * it validates arguments before a tool is called, and turns what a tool throws into a result. The transport stays
 * the same object, since the SDK looks at its class; only its message functions are wrapped.
 */
export function intercept(mcp: McpServer, interception: Interception): void {
  const connect = mcp.connect.bind(mcp);
  mcp.connect = async (transport) => {
    await connect(transport);
    interceptTransport(transport, interception);
  };
}

function interceptTransport(
  transport: Transport,
  { exchanges, gate, errorOf, tap, holder }: Interception,
): void {
  const send = transport.send.bind(transport);
  tap?.connected(send);
  transport.send = async (message, options) => {
    if (holder?.answered(message) === true) return;
    const answer = exchanges.resolve(message);
    try {
      await send(tap?.sending(answer) ?? answer, options);
    } catch (error) {
      tap?.unsent(answer);
      throw error;
    }
    tap?.sent(answer);
  };

  const receive = transport.onmessage;
  transport.onmessage = <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo): void => {
    if (tap?.received(message) === true) return;
    if (isJSONRPCNotification(message)) {
      forgetCancelled(message, exchanges);
    } else if (isJSONRPCRequest(message)) {
      const refusal = gate.refusal(message);
      if (refusal !== undefined) {
        const failed = (reason: unknown): void => transport.onerror?.(reason as Error);
        send({ jsonrpc: "2.0", id: message.id, error: errorOf(refusal) }).catch(failed);
        return;
      }
      if (holder?.holds(message, (forwarded) => receive?.(forwarded, extra)) === true) return;
      if (gate.owns(message)) {
        exchanges.begin(message.id, message.params ?? {});
        receive?.(withoutState(message), extra);
        return;
      }
    }
    receive?.(message, extra);
  };

  const closed = transport.onclose;
  transport.onclose = () => {
    exchanges.close();
    tap?.closed();
    closed?.();
  };
}

/** What we sealed is ours to open: the hook that an author's server has for states of its own would refuse it. */
function withoutState<T extends JSONRPCMessage & JSONRPCRequest>(message: T): T {
  if (typeof message.params?.["requestState"] !== "string") return message;
  const { requestState: _, ...params } = message.params;
  return { ...message, params };
}

/** The SDK sends no answer to a cancelled request. */
function forgetCancelled(message: JSONRPCMessage, exchanges: Exchanges): void {
  if (!("method" in message) || message.method !== "notifications/cancelled") return;
  const id = message.params?.["requestId"];
  if (typeof id === "string" || typeof id === "number") exchanges.forget(id);
}

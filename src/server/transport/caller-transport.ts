import {
  isJSONRPCRequest,
  type AuthInfo,
  type JSONRPCMessage,
  type MessageExtraInfo,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import { subjectOf, type Sender } from "../http/identify.ts";
import { messageFault, nodeFault } from "../message-limits.ts";
import { refusalOf } from "../refusal-events.ts";
import type { MessageContext } from "../request.ts";
import type { TaskServer } from "../task-server.ts";

interface CallerTransportSetup {
  readonly server: TaskServer;
  /** The owner of the connection. */
  readonly sender: Sender;
}

/**
 * A connection of one caller. If messages arrive as HTTP requests, as with HTTP+SSE, each has its own authentication: a message from
 * another caller, who has learned the session's id, is dropped. The message limits apply to the others.
 */
export class CallerTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  readonly #wire: Transport;
  readonly #setup: CallerTransportSetup;

  constructor(wire: Transport, setup: CallerTransportSetup) {
    this.#wire = wire;
    this.#setup = setup;
  }

  get sessionId(): string | undefined {
    return this.#wire.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#wire.setProtocolVersion?.(version);
  }

  async start(): Promise<void> {
    const { onclose, onerror } = this.#wire;
    this.#wire.onmessage = (message, extra) => this.#receive(message, extra);
    this.#wire.onerror = (error) => {
      onerror?.(error);
      this.onerror?.(error);
    };
    this.#wire.onclose = () => {
      onclose?.();
      this.onclose?.();
    };
    await this.#wire.start();
  }

  close(): Promise<void> {
    return this.#wire.close();
  }

  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    return this.#wire.send(message, options);
  }

  #receive(message: JSONRPCMessage, extra?: MessageExtraInfo): void {
    const { server, sender } = this.#setup;
    if (isOfAnother(sender, extra)) {
      this.#report(
        message,
        new HoldfastError("unauthenticated", "This connection belongs to another caller."),
      );
      return;
    }
    const fault = this.#faultOf(message);
    if (fault === undefined) {
      const context: MessageContext = { ...extra, ...(sender.auth !== undefined && { auth: sender.auth }) };
      this.onmessage?.(message, context);
      return;
    }
    this.#report(message, fault);
    if ("id" in message && message.id !== undefined) {
      const refusal = { jsonrpc: "2.0" as const, id: message.id, error: server.errorOf(fault) };
      if (isJSONRPCRequest(message)) this.#wire.send(refusal).catch(server.onError);
      else this.onmessage?.(refusal); // the SDK waits for the reply to its own request
    }
  }

  #faultOf(message: JSONRPCMessage): HoldfastError | undefined {
    const { maxNesting, maxNodes } = this.#setup.server.options;
    const fault = messageFault(message, maxNesting); // first: to write it as text recurses
    if (fault !== undefined) return fault;
    const tooMany = nodeFault(JSON.stringify(message), maxNodes);
    return tooMany === undefined ? undefined : new HoldfastError("invalid_request", tooMany);
  }

  #report(message: JSONRPCMessage, fault: HoldfastError): void {
    const { server, sender } = this.#setup;
    const method = "method" in message ? message.method : undefined;
    server.events?.emit(refusalOf(fault, { principal: sender.principal, method }));
  }
}

/** Whether the message arrived as an HTTP request of another caller, or an anonymous one on the connection of a known caller. */
function isOfAnother({ authInfo }: Sender, extra?: MessageExtraInfo): boolean {
  if (extra?.request === undefined && extra?.authInfo === undefined) return false;
  return nameOf(extra.authInfo) !== nameOf(authInfo);
}

function nameOf(authInfo: AuthInfo | undefined): string | undefined {
  return authInfo && (subjectOf(authInfo)?.principal ?? authInfo.clientId);
}

import {
  type AuthInfo,
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type MessageExtraInfo,
  type RequestId,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/server";
import { HoldfastError } from "../task/fault.ts";
import { refusalOf } from "./faults.ts";
import { assertTaskServer, type TaskServer } from "./task-server.ts";
import { assertOptions, isObject, number, settingsOf, tableOf, value } from "../options/options.ts";
import type { Identity } from "./http/http-options.ts";
import { authInfoOf } from "./http/sessions/incoming.ts";
import { type Sender, senderFrom, senderOf, subjectOf } from "./http/identify.ts";
import { onePipe } from "./streams.ts";
import { messageFault, nodeFault } from "./limits.ts";
import { reserveOnPipe } from "./http/unread-bytes.ts";
import type { MessageContext } from "./request.ts";

/** When an open request may have been answered, in ms. */
const retryAfterMs = 1_000;

export interface PipeSetup {
  readonly server: TaskServer;
  /** The owner of the connection. */
  readonly sender: Sender;
  /** Requests that wait for their answers at a time. */
  readonly maxOpenRequests: number;
  /** Values in a message; left out if they were counted before it was parsed. */
  readonly maxNodes?: number;
}

/**
 * A connection of one caller, on which all messages come. Those pass on, in their order, that are within the limits of messages; requests
 * that come too fast, or while too many are open, are refused. If messages arrive as HTTP requests, as with HTTP+SSE, each has its own
 * authentication: a message from another caller, who has learned the session's id, is dropped.
 */
export class PipeTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  protected readonly wire: Transport;
  protected readonly setup: PipeSetup;
  readonly #open = new Set<RequestId>();
  #last: Promise<void> = Promise.resolve();

  constructor(wire: Transport, setup: PipeSetup) {
    this.wire = wire;
    this.setup = setup;
  }

  get sessionId(): string | undefined {
    return this.wire.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.wire.setProtocolVersion?.(version);
  }

  async start(): Promise<void> {
    const { onclose, onerror } = this.wire;
    const hears: Pick<Transport, "onmessage" | "onerror" | "onclose"> = {
      onmessage: (message, extra) => {
        this.#last = this.#last.then(() => this.#admit(message, extra)).catch(this.setup.server.onError);
      },
      onerror: (error) => {
        onerror?.(error);
        this.onerror?.(error);
      },
      onclose: () => {
        onclose?.();
        this.closed();
        this.onclose?.();
      },
    };
    Object.assign(this.wire, hears);
    await this.wire.start();
  }

  close(): Promise<void> {
    return this.wire.close();
  }

  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!("method" in message) && message.id !== undefined) this.#open.delete(message.id);
    return this.wire.send(message, options);
  }

  /** Passes on a message that was admitted. */
  protected received(message: JSONRPCMessage, extra?: MessageContext): void {
    this.onmessage?.(message, extra);
  }

  /** The connection has ended. */
  protected closed(): void {
    this.#open.clear();
  }

  async #admit(message: JSONRPCMessage, extra?: MessageExtraInfo): Promise<void> {
    const { server, sender } = this.setup;
    const isForeign = isOfAnother(sender, extra);
    const fault = isForeign
      ? new HoldfastError("unauthenticated", "This connection belongs to another caller.")
      : (this.#faultOf(message) ?? (await this.#refusal(message)));
    if (fault === undefined) {
      if (isJSONRPCRequest(message)) this.#open.add(message.id);
      else if (isJSONRPCNotification(message) && message.method === "notifications/cancelled") {
        this.#open.delete(message.params?.["requestId"] as RequestId); // it will not be answered
      }
      this.received(message, { ...extra, ...(sender.auth !== undefined && { auth: sender.auth }) });
      return;
    }
    const method = "method" in message ? message.method : undefined;
    server.events?.emit(refusalOf(fault, { principal: sender.principal, method }));
    if (isForeign || !("id" in message) || message.id === undefined) return;
    const refusal = { jsonrpc: "2.0" as const, id: message.id, error: server.errorOf(fault) };
    if (isJSONRPCRequest(message)) this.wire.send(refusal).catch(server.onError);
    else this.onmessage?.(refusal); // the SDK waits for the reply to its own request
  }

  #faultOf(message: JSONRPCMessage): HoldfastError | undefined {
    const { server, maxNodes } = this.setup;
    const fault = messageFault(message, server.options.maxNesting); // first: to write it as text recurses
    if (fault !== undefined || maxNodes === undefined) return fault;
    const tooMany = nodeFault(JSON.stringify(message), maxNodes);
    return tooMany === undefined ? undefined : new HoldfastError("invalid_request", tooMany);
  }

  /** Also what fails meanwhile, such as the store: whoever asked waits for an answer. */
  async #refusal(message: JSONRPCMessage): Promise<unknown> {
    if (!isJSONRPCRequest(message)) return undefined;
    const { server, sender, maxOpenRequests: max } = this.setup;
    if (this.#open.size < max)
      return server.rates.refusal(message, sender.principal).catch((fault: unknown) => fault);
    const tooMany = `${max} requests are already open. Wait for some of them, or cancel them.`;
    return new HoldfastError("limit_reached", tooMany, { data: { retryAfterMs } });
  }
}

class DeclaredTransportOptions {
  /**
   * The caller that your authentication found, such as `req.auth`. Its tasks belong to the same subject as in `createNodeHandler`. Messages
   * that arrive as HTTP requests need the same caller.
   */
  readonly authInfo?: AuthInfo | undefined = value("an AuthInfo of the SDK", isObject);
  /** The caller, for a transport with its own authentication: an identity, or just the principal's name. */
  readonly identity?: Identity | string = value(
    "an identity, or the name of a principal",
    (given) => typeof given === "string" || isObject(given),
  );
  /** Maximum number of unanswered requests of the client; one more is refused with -32000. Default 1,000. */
  readonly maxOpenRequests?: number = number({ min: 1, default: 1_000 });
}

/** Options of `serveTransport`. */
export interface TransportOptions extends DeclaredTransportOptions {}

const transportOptions = tableOf<TransportOptions>(DeclaredTransportOptions);

/** A connection over a transport. */
export interface TransportConnection {
  /** Closes the connection. Its tasks continue. */
  close(): Promise<void>;
}

/**
 * Serves the one client at the other end of `transport`: any transport of the SDK that is not started yet, such as that of HTTP+SSE, or
 * your own. The connection begins with a handshake of protocol 2025-11-25 or earlier. Starts the tasks if they are not started; they
 * continue when the connection ends. Without `authInfo` or `identity`, callers are not told apart, and anyone with a task's id can access
 * the task.
 *
 * ```ts
 * app.get("/sse", async (request, response) => {
 *   await serveTransport(server, new SSEServerTransport("/messages", response), { authInfo: request.auth });
 * });
 * ```
 */
export async function serveTransport(
  server: TaskServer,
  transport: Transport,
  options: TransportOptions = {},
): Promise<TransportConnection> {
  assertTaskServer("serveTransport", server);
  assertOptions("serveTransport", options, transportOptions);
  const { maxOpenRequests } = settingsOf<TransportOptions, "authInfo" | "identity">(
    transportOptions,
    options,
  );
  const sender = senderIn(options);
  await server.start();
  const context = { era: "legacy" as const, ...authInfoOf(sender) };
  const session = await server.openSession(context, sender, { ...onePipe, reserve: reserveOnPipe() });
  const { maxNodes } = server.options;
  await session.connect(new PipeTransport(transport, { server, sender, maxOpenRequests, maxNodes }));
  return { close: () => session.close() };
}

function senderIn({ authInfo, identity }: TransportOptions): Sender {
  if (identity === undefined) return senderFrom({ auth: authInfo }, {}) ?? { principal: null };
  if (authInfo === undefined)
    return senderOf(typeof identity === "string" ? { principal: identity } : identity);
  const message =
    "serveTransport takes either authInfo or identity. An identity can carry its own authInfo for the handlers.";
  throw new HoldfastError("configuration", message);
}

/** Whether the message arrived as an HTTP request of another caller, or an anonymous one on the connection of a known caller. */
function isOfAnother({ authInfo }: Sender, extra?: MessageExtraInfo): boolean {
  if (extra?.request === undefined && extra?.authInfo === undefined) return false;
  return nameOf(extra.authInfo) !== nameOf(authInfo);
}

function nameOf(authInfo: AuthInfo | undefined): string | undefined {
  return authInfo && (subjectOf(authInfo)?.principal ?? authInfo.clientId);
}

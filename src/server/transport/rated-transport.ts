import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type MessageExtraInfo,
  type RequestId,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import { refusalOf } from "../refusal-events.ts";
import type { TaskServer } from "../task-server.ts";

/** When an open request may have been answered, in ms. */
const retryAfterMs = 1_000;

export interface RatedTransportSetup {
  readonly server: TaskServer;
  readonly principal: string | null;
  /** Requests that wait for their answers at a time. */
  readonly maxOpenRequests: number;
}

/** Refuses requests that come too fast, or while too many are open. The order of the others does not change. */
export class RatedTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  readonly #wire: Transport;
  readonly #setup: RatedTransportSetup;
  readonly #open = new Set<RequestId>();
  #last: Promise<void> = Promise.resolve();

  constructor(wire: Transport, setup: RatedTransportSetup) {
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
    this.#wire.onmessage = (message, extra) => {
      this.#last = this.#last.then(() => this.#admit(message, extra)).catch(this.#setup.server.onError);
    };
    this.#wire.onerror = (error) => this.onerror?.(error);
    this.#wire.onclose = () => this.onclose?.();
    await this.#wire.start();
  }

  close(): Promise<void> {
    return this.#wire.close();
  }

  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!("method" in message) && message.id !== undefined) this.#open.delete(message.id);
    return this.#wire.send(message, options);
  }

  async #admit(message: JSONRPCMessage, extra?: MessageExtraInfo): Promise<void> {
    if (isJSONRPCRequest(message)) {
      const { server, principal } = this.#setup;
      const fault = this.#full() ?? (await server.rates.refusal(message, principal));
      if (fault !== undefined) {
        server.events?.emit(refusalOf(fault, { principal, method: message.method }));
        await this.#wire.send({ jsonrpc: "2.0", id: message.id, error: server.errorOf(fault) });
        return;
      }
      this.#open.add(message.id);
    } else if (isJSONRPCNotification(message) && message.method === "notifications/cancelled") {
      this.#open.delete(message.params?.["requestId"] as RequestId); // it will not be answered
    }
    this.onmessage?.(message, extra);
  }

  #full(): HoldfastError | undefined {
    const { maxOpenRequests: max } = this.#setup;
    if (this.#open.size < max) return undefined;
    const message = `${max} requests are already open. Wait for some of them, or cancel them.`;
    return new HoldfastError("limit_reached", message, { data: { retryAfterMs } });
  }
}

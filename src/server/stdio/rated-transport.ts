import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type MessageExtraInfo,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/server";
import type { TaskServer } from "../task-server.ts";

/** A connection whose requests are refused where they come too fast; what is let in keeps its order. */
export class RatedTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  readonly #wire: Transport;
  readonly #server: TaskServer;
  readonly #principal: string;
  #last: Promise<void> = Promise.resolve();

  constructor(wire: Transport, server: TaskServer, principal: string) {
    this.#wire = wire;
    this.#server = server;
    this.#principal = principal;
  }

  async start(): Promise<void> {
    this.#wire.onmessage = (message, extra) => {
      this.#last = this.#last.then(() => this.#admit(message, extra)).catch(this.#server.onError);
    };
    this.#wire.onerror = (error) => this.onerror?.(error);
    this.#wire.onclose = () => this.onclose?.();
    await this.#wire.start();
  }

  close(): Promise<void> {
    return this.#wire.close();
  }

  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    return this.#wire.send(message, options);
  }

  async #admit(message: JSONRPCMessage, extra?: MessageExtraInfo): Promise<void> {
    if (isJSONRPCRequest(message)) {
      const fault = await this.#server.rates.refusal(message, this.#principal);
      if (fault !== undefined) {
        await this.#wire.send({ jsonrpc: "2.0", id: message.id, error: this.#server.errorOf(fault) });
        return;
      }
    }
    this.onmessage?.(message, extra);
  }
}

import type { McpServer, Transport } from "@modelcontextprotocol/server";
import type { ConnectionTraces } from "../tracing/connection-traces.ts";
import { DispatchTransport, type WireDispatcher } from "./dispatch-transport.ts";

/** An author's server for one connection, and the dispatcher that answers our requests on it. */
export class DispatchedServer<Dispatcher extends WireDispatcher = WireDispatcher> {
  readonly dispatcher: Dispatcher;
  readonly #mcp: McpServer;
  readonly #onConnected: () => () => void;
  readonly #traces: ConnectionTraces | undefined;
  #transport: DispatchTransport | undefined;

  /** `onConnected` returns a function to call when the connection has ended. `traces`: left out if nothing is traced. */
  constructor(
    mcp: McpServer,
    dispatcher: Dispatcher,
    onConnected: () => () => void,
    traces?: ConnectionTraces,
  ) {
    this.#mcp = mcp;
    this.#onConnected = onConnected;
    this.dispatcher = dispatcher;
    this.#traces = traces;
  }

  async connect(wire: Transport): Promise<void> {
    const transport = new DispatchTransport(wire, this.dispatcher, this.#traces);
    this.#transport = transport;
    transport.onclose = this.#onConnected(); // which the SDK calls too
    await this.#mcp.connect(transport);
  }

  /** As `DispatchTransport.answer`. */
  answer(...args: Parameters<DispatchTransport["answer"]>): void {
    this.#transport?.answer(...args);
  }

  close(): Promise<void> {
    return this.#mcp.close();
  }

  /**
   * For an entry of the SDK, which calls `connect` itself: the author's server, which is not changed, with our `connect`. What
   * else the entry uses is that of the author's server: the private fields of its class are not inherited.
   */
  get server(): McpServer {
    return Object.create(this.#mcp, {
      server: { value: this.#mcp.server },
      connect: { value: (wire: Transport) => this.connect(wire) },
      close: { value: () => this.close() },
    }) as McpServer;
  }
}

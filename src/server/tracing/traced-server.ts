import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type McpServer,
  type MessageExtraInfo,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/server";
import { ConnectionTraces } from "./connection-traces.ts";
import type { RequestTracing } from "./request-tracing.ts";

/**
 * The author's server for one request of 2026-07-28 over HTTP, which the SDK connects: with a span for the request. The SDK knows its
 * transport by the class, so that this is not wrapped.
 */
export function tracedServer(mcp: McpServer, tracing: RequestTracing): McpServer {
  const connect = async (wire: Transport): Promise<void> => {
    await mcp.connect(wire);
    trace(wire, new ConnectionTraces({ tracing, transport: "http" }));
  };
  return Object.create(mcp, { server: { value: mcp.server }, connect: { value: connect } }) as McpServer;
}

function trace(wire: Transport, traces: ConnectionTraces): void {
  const { onmessage, onclose } = wire;
  const send = wire.send.bind(wire);
  wire.onmessage = (message: JSONRPCMessage, extra?: MessageExtraInfo) => {
    if (!isJSONRPCRequest(message)) {
      onmessage?.(message, extra);
      return;
    }
    const begun = traces.begin(message);
    if (begun === undefined) onmessage?.(message, extra);
    else begun.run(() => onmessage?.(begun.traced(message), extra));
  };
  wire.send = (message: JSONRPCMessage, options?: TransportSendOptions) => {
    if (!("method" in message)) traces.answered(message);
    return send(message, options);
  };
  wire.onclose = () => {
    traces.close();
    onclose?.();
  };
}

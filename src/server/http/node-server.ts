import type { RequestListener, Server } from "node:http";
import type { ConnectionLimits } from "./limits.ts";

/** A server of `node:http` that does not let its clients be slow, large or many without bounds. */
export async function createNodeServer(limits: ConnectionLimits, listener: RequestListener): Promise<Server> {
  // Loads Node's `fetch` and TLS too, which takes longer than all of Holdfast, and servers on stdio use none of it.
  const { createServer } = await import("node:http");
  const { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, maxHeaders } = limits;
  const node = createServer(
    {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      // How exact the first two are.
      connectionsCheckingInterval: Math.min(5_000, headersTimeoutMs, requestTimeoutMs),
      insecureHTTPParser: false,
    },
    listener,
  );
  node.maxConnections = limits.maxConnections;
  node.maxHeadersCount = maxHeaders + 1;
  return node;
}

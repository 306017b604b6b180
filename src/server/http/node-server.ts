import { createServer, type RequestListener, type Server } from "node:http";
import type { ConnectionLimits } from "./limits.ts";

/** A server of `node:http` that does not let its clients be slow, large or many without bounds. */
export function createNodeServer(limits: ConnectionLimits, listener: RequestListener): Server {
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

import type { RequestListener, Server } from "node:http";
import { HoldfastError } from "../../task/fault.ts";
import { assertOptions } from "../../options/options.ts";
import { assertTaskServer, type TaskServer } from "../task-server.ts";
import type { FetchHandler } from "./fetch-handler.ts";
import { httpOptions, type HttpOptions, type HttpSettings, httpSettings } from "./http-options.ts";
import { isLoopback, listen, urlOf } from "./listen.ts";
import { nodeHandler, type OpenWork } from "./node-handler.ts";
import { AdminRequests } from "./admin-endpoint.ts";
import { DashboardRequests } from "./dashboard/dashboard.ts";
import { MetricsRequests } from "./metrics-endpoint.ts";
import { pathnameOf } from "./http-request.ts";
import { operatorEndpoint } from "./operator-endpoint.ts";
import type { EndpointBeside } from "./operator-options.ts";

/** A server of `node:http` that does not let its clients be slow, large or many without bounds. */
export async function createNodeServer(limits: HttpSettings, listener: RequestListener): Promise<Server> {
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

/** A server that listens. */
export interface HttpServer {
  /** The URL for clients, including the path. */
  readonly url: string;
  readonly port: number;
  /**
   * Notifies listening clients of 2026-07-28 that tools, prompts or resources of your own servers changed. The client of a session is
   * notified by its own `McpServer`.
   */
  readonly notify: FetchHandler["notify"];
  /** Accepts no more requests, waits up to `stopDeadlineMs` in total for running requests and tasks, and frees the port. Idempotent. */
  close(): Promise<void>;
}

/**
 * Starts the tasks and serves them over HTTP. Rejects with `configuration` and `address_in_use` before anything is started, so you can try
 * another port. Also rejects with the store's error if the store cannot be opened.
 *
 * ```ts
 * const http = await serveHttp(tasks.server(makeServer), { port: 3000 });
 * process.on("SIGTERM", () => void http.close());
 * ```
 */
export async function serveHttp(server: TaskServer, options: HttpOptions = {}): Promise<HttpServer> {
  assertTaskServer("serveHttp", server);
  assertOptions("serveHttp", options, httpOptions);
  const settings = httpSettings(options);
  const { host, port, path } = settings;
  const withHosts = withHostDefault(options, host);
  const endpoints = endpointsBesideMcp(server, withHosts);
  const { handle, handler, open } = nodeHandler(server, withHosts);
  const node = await createNodeServer(settings, listenerOf(handle, endpoints, open));

  // First the port: if it is in use, nothing has been started yet that would have to be stopped for good.
  const bound = await listen(node, host, port);
  node.on("error", server.onError);
  try {
    await server.start(); // requests that come meanwhile wait for it
  } catch (error) {
    const freed = closed(node);
    await handler.close();
    node.closeAllConnections();
    await freed;
    throw error;
  }

  const close = async (): Promise<void> => {
    const freed = closed(node);
    for (const endpoint of endpoints) endpoint.close();
    await handle.close();
    node.closeAllConnections();
    await freed;
  };
  let closing: Promise<void> | undefined;
  return {
    url: urlOf(host, bound, path),
    port: bound,
    notify: handler.notify,
    close: () => (closing ??= close()),
  };
}

/** Accepts no more connections; resolves when the existing ones have ended. */
function closed(node: Server): Promise<void> {
  return new Promise((resolve) => node.close(() => resolve()));
}

/** Beyond this machine the server's names are unknown, and access by strangers must be a deliberate choice. */
function withHostDefault(options: HttpOptions, host: string): HttpOptions {
  if (isLoopback(host)) return options;
  if (options.authenticate === undefined && options.anonymous === undefined) {
    throw new HoldfastError(
      "configuration",
      `Other machines can reach ${host}, so callers must be identified. Set authenticate, or set anonymous: "isolated" to let anyone call.`,
    );
  }
  return { allowedHosts: "any", ...options };
}

/** The endpoints for operators of a server that listens itself, under the names that its MCP endpoint has: those that were asked for. */
export function endpointsBesideMcp(server: TaskServer, options: HttpOptions): readonly EndpointBeside[] {
  const { admin, metrics, dashboard, events, path = "/mcp" } = options;
  const { allowedHosts, allowedOrigins, requestTimeoutMs } = options;
  const names = {
    ...(allowedHosts !== undefined && { allowedHosts }),
    ...(allowedOrigins !== undefined && { allowedOrigins }),
  };
  const timeout = requestTimeoutMs === undefined ? {} : { requestTimeoutMs };
  const endpoints: EndpointBeside[] = [];
  const add = (name: string, endpoint: EndpointBeside): void => {
    const hidden = [path, ...endpoints.map((other) => other.path)].find((other) => endpoint.serves(other));
    const hider = endpoints.find((other) => other.serves(endpoint.path));
    if (hidden !== undefined || hider !== undefined) {
      const message = `The ${name} endpoint at ${endpoint.path} overlaps with the endpoint at ${hidden ?? hider?.path}. Give one of them another path.`;
      throw new HoldfastError("configuration", message);
    }
    endpoints.push(endpoint);
  };
  if (admin !== undefined) {
    const requests = new AdminRequests(server, { ...admin, ...names, ...timeout });
    add("admin", operatorEndpoint(requests, server.onError));
  }
  if (metrics !== undefined) {
    add("metrics", operatorEndpoint(new MetricsRequests(server, { ...metrics, ...names }), server.onError));
  }
  if (dashboard !== undefined) {
    const authenticate = dashboard.authenticate ?? admin?.authenticate;
    if (authenticate === undefined) throw withoutAuthentication();
    const requests = new DashboardRequests(server, { ...dashboard, authenticate, ...names, ...timeout });
    add("dashboard", operatorEndpoint(requests, server.onError));
  }
  if (events !== undefined) add("events", events);
  return endpoints;
}

/** Routes requests to an operators' endpoint or to that of clients. A stop waits for the answers of all. */
export function listenerOf(
  handle: RequestListener,
  endpoints: readonly EndpointBeside[],
  open: Pick<OpenWork, "begin">,
): RequestListener {
  if (endpoints.length === 0) return handle;
  return (incoming, outgoing) => {
    const pathname = pathnameOf(incoming);
    const endpoint = endpoints.find((each) => each.serves(pathname));
    if (endpoint === undefined) return handle(incoming, outgoing);
    outgoing.once("close", open.begin(false));
    endpoint(incoming, outgoing);
  };
}

function withoutAuthentication(): HoldfastError {
  const message =
    "The dashboard needs to identify its operators: set dashboard.authenticate, or set admin, whose operators it then shares.";
  return new HoldfastError("configuration", message);
}

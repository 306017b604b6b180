import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerNotifier } from "@modelcontextprotocol/server";
import { listenMethod } from "../../generation/2026-07-28-listen.ts";
import { assertOptions } from "../../options/options.ts";
import { assertTaskServer, type TaskServer } from "../task-server.ts";
import { createHandler, type Handler } from "./handler.ts";
import { nodeHandlerOptions, type NodeHandlerOptions, type RequestContext } from "./http-options.ts";
import { nodeRequestLimits } from "./limits.ts";
import { fromNode, pathnameOf, wasRead, type ReceivedMessage } from "./node-request.ts";
import { NodeRequests } from "./node-requests.ts";
import { OpenWork } from "./open-work.ts";

/** Serves MCP as a request listener of `node:http`, and as middleware of Express and others. */
export interface NodeHandler {
  /**
   * Answers a request. The last argument is the `next` of a middleware, which gets the requests for other paths; or what the framework did
   * with the request, if `incoming` does not have it as `body` and `auth`.
   */
  (incoming: IncomingMessage, outgoing: ServerResponse, next?: NextFunction | RequestContext): void;
  /**
   * Notifies listening clients of 2026-07-28 that tools, prompts or resources of your own servers changed. The client of a session is
   * notified by its own `McpServer`.
   */
  readonly notify: ServerNotifier;
  /**
   * Waits up to `stopDeadlineMs` in total for running requests and tasks, stops the tasks and closes their store. Answers 503 from then on.
   * It does not close your HTTP server. Idempotent.
   */
  close(): Promise<void>;
}

/** Called for a request that the handler does not serve, as in Express; with an error if it failed. */
export type NextFunction = (error?: unknown) => void;

/**
 * Serves `server` on `options.path`, which is the full path wherever the handler is mounted. Also serves `GET /healthz`, 200 while the
 * process lives, and `GET /readyz`, 200 once the tasks have started and their store takes writes, otherwise 503. The first request starts the
 * tasks, unless `tasks.start()` did; while they cannot start, requests get 503. Throws `configuration` for options that contradict each
 * other.
 *
 * ```ts
 * const handler = createNodeHandler(tasks.server(makeServer), { allowedHosts: ["reports.example.com"] });
 * app.use(handler);
 * process.on("SIGTERM", () => void handler.close());
 * ```
 */
export function createNodeHandler(server: TaskServer, options: NodeHandlerOptions = {}): NodeHandler {
  assertTaskServer("createNodeHandler", server);
  assertOptions("createNodeHandler", options, nodeHandlerOptions);
  return nodeHandler(server, options).handle;
}

/** `createNodeHandler` from its parts. */
export function nodeHandler(
  server: TaskServer,
  options: NodeHandlerOptions,
): { readonly handle: NodeHandler; readonly handler: Handler; readonly open: OpenWork } {
  const handler = createHandler(server, options);
  const open = new OpenWork(server, handler);
  const requests = new NodeRequests({
    fastPath: handler.fastPath,
    handler,
    limits: nodeRequestLimits(options),
    onError: server.onError,
    onResponse(response) {
      response.once("close", open.begin(isEndless(response.req)));
      if (open.isClosing) response.setHeader("Connection", "close");
    },
  });
  const handle = (
    incoming: ReceivedMessage,
    outgoing: ServerResponse,
    next: NextFunction | RequestContext = {},
  ): void => {
    if (typeof next === "function" && !isRoutedToUs(incoming, handle) && !isOurs(incoming, handler)) {
      next();
      return;
    }
    const { parsedBody, authInfo } = typeof next === "function" ? {} : next;
    const read = wasRead(incoming);
    const value = parsedBody === undefined && read ? incoming.body : parsedBody;
    requests.handle(incoming, outgoing, {
      // Frameworks say null where they read nothing, too.
      parsed: read || (value !== undefined && value !== null) ? { value } : undefined,
      auth: authInfo ?? incoming.auth,
    });
  };
  return {
    handle: Object.assign(handle, { notify: handler.notify, close: () => open.close() }),
    handler,
    open,
  };
}

/** A listening stream, or the one stream of a session, never ends by itself; closing the handler ends it. */
function isEndless({ method, headers }: IncomingMessage): boolean {
  return method === "GET" || headers["mcp-method"] === listenMethod;
}

/** Whether a route of Express leads here. An earlier route that matched stays in `route`. */
function isRoutedToUs({ route }: ReceivedMessage, handle: unknown): boolean {
  return route?.stack?.some((layer) => layer.handle === handle) === true;
}

function isOurs(incoming: ReceivedMessage, handler: Handler): boolean {
  const { method = "GET", baseUrl = "" } = incoming;
  // Express passes us everything below another path than ours: our 404 says what to set.
  if (!handler.path.startsWith(baseUrl)) return true;
  return handler.serves(method, pathnameOf(incoming), () =>
    fromNode(incoming, new AbortController().signal, null),
  );
}

import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerNotifier } from "@modelcontextprotocol/server";
import { listenMethod } from "../../generation/2026-07-28/listen.ts";
import { assertOptionNames } from "../../task/option-names.ts";
import { assertTaskServer, type TaskServer } from "../task-server.ts";
import { createHandler, type Handler } from "./handler.ts";
import { nodeHandlerOptions } from "./http-option-names.ts";
import type { NodeHandlerOptions, RequestContext } from "./http-options.ts";
import { nodeRequestLimits } from "./limits.ts";
import { fromNode, pathnameOf, wasRead, type ReceivedMessage } from "./node-request.ts";
import { NodeRequests } from "./node-requests.ts";
import { OpenWork } from "./open-work.ts";

/** Serves MCP as a request listener of `node:http`, and as middleware of Express and others. */
export interface NodeHandler {
  /**
   * Answers a request. The last argument is the `next` of a middleware, which gets the requests that are not for us; or
   * what the framework did with the request, where `incoming` does not say so by `body` and `auth`.
   */
  (incoming: IncomingMessage, outgoing: ServerResponse, next?: NextFunction | RequestContext): void;
  /**
   * Tells listening clients of 2026-07-28 that tools, prompts or resources of the author's own servers changed. The
   * client of a session hears it from its own `McpServer`.
   */
  readonly notify: ServerNotifier;
  /**
   * Lets requests in flight and the tasks end for `stopDeadlineMs` in all, stops the tasks and closes their store; answers
   * 503 from then on. The HTTP server is its owner's to close. Idempotent.
   */
  close(): Promise<void>;
}

export type NextFunction = (error?: unknown) => void;

/**
 * Serves `server` on `options.path`, which is the whole path, wherever the handler is mounted; beside it `GET /healthz`, 200
 * while the process lives, and `GET /readyz`, 200 once the tasks have started and their store answers, else 503. The first
 * request starts the tasks, unless `tasks.start()` did; while they cannot be started, requests get 503. Throws
 * `configuration` for options that contradict each other.
 *
 * ```ts
 * const handler = createNodeHandler(tasks.server(makeServer), { allowedHosts: ["reports.example.com"] });
 * app.use(handler);
 * process.on("SIGTERM", () => void handler.close());
 * ```
 */
export function createNodeHandler(server: TaskServer, options: NodeHandlerOptions = {}): NodeHandler {
  assertTaskServer("createNodeHandler", server);
  assertOptionNames("createNodeHandler", options, nodeHandlerOptions);
  return nodeHandler(server, options).handle;
}

/** As `createNodeHandler`, with what it is made of. */
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

/** A listening stream, or the one stream of a session, has no end of its own; closing the handler ends it. */
function isEndless({ method, headers }: IncomingMessage): boolean {
  return method === "GET" || headers["mcp-method"] === listenMethod;
}

/** Whether a route of Express leads here. One that was matched on the way stays in `route`. */
function isRoutedToUs({ route }: ReceivedMessage, handle: unknown): boolean {
  return route?.stack?.some((layer) => layer.handle === handle) === true;
}

function isOurs(incoming: ReceivedMessage, handler: Handler): boolean {
  const { method = "GET", baseUrl = "" } = incoming;
  // Express was told to send us all below a path where ours is not: our 404 says what to set.
  if (!handler.path.startsWith(baseUrl)) return true;
  return handler.serves(method, pathnameOf(incoming), () =>
    fromNode(incoming, new AbortController().signal, null),
  );
}

import { setTimeout as pause } from "node:timers/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerNotifier } from "@modelcontextprotocol/server";
import { assertTaskServer, type TaskServer } from "../task-server.ts";
import { createHandler, type Handler } from "./handler.ts";
import { listenMethod } from "../../generation/2026-07-28-listen.ts";
import { assertOptions } from "../../options/options.ts";
import {
  httpSettings,
  nodeHandlerOptions,
  type NodeHandlerOptions,
  type RequestContext,
} from "./http-options.ts";
import { nodeRequest, pathnameOf, type ReceivedMessage, wasRead } from "./http-request.ts";
import { NodeRequests } from "./node-requests.ts";

/** How long clients may take to send the end of a request, and to read the end of what they listen to. */
const lastWordMs = 1_000;

/** What a handler is answering, and its end in order. */
export class OpenWork {
  readonly #server: TaskServer;
  readonly #handler: Handler;
  readonly #answers = new OpenResponses();
  /** They have no end of their own; closing the handler ends them. */
  readonly #streams = new OpenResponses();
  #closing: Promise<void> | undefined;

  constructor(server: TaskServer, handler: Handler) {
    this.#server = server;
    this.#handler = handler;
  }

  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  /** Counts a response until the returned function is called. */
  begin(isEndless: boolean): () => void {
    return (isEndless ? this.#streams : this.#answers).begin();
  }

  /** Lets answers and tasks end, for `stopDeadlineMs` in all, then ends the streams and stops the tasks. Idempotent. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    const server = this.#server;
    const handler = this.#handler;
    server.drain();
    const leftMs = await this.#answers.drained({
      deadlineMs: server.options.stopDeadlineMs,
      waiting: () => server.waiting,
      unsent: () => handler.receiving + handler.asking,
    });
    await handler.close();
    // The message that it has ended is still on its way to listeners.
    await Promise.all([this.#streams.drained({ deadlineMs: lastWordMs }), server.stop(leftMs)]);
  }
}

/** How soon the end of the last response is noticed. */
const lookMs = 10;

/** What to wait for, and how long. */
interface Draining {
  readonly deadlineMs: number;
  /** How many responses wait for something that may take any time. */
  readonly waiting?: () => number;
  /** How many wait for more from their clients: the rest of a request, or another one. These have `lastWordMs`. */
  readonly unsent?: () => number;
}

/** Counts the responses that are not finished, so that a server can end when there are none. */
class OpenResponses {
  #open = 0;

  /** Counts one more; call the returned function once when it has ended. */
  begin(): () => void {
    this.#open += 1;
    return () => void (this.#open -= 1);
  }

  /** Resolves when all others have finished, at the latest at the deadline, with the milliseconds that are left until then. */
  async drained({ deadlineMs, waiting, unsent }: Draining): Promise<number> {
    const start = performance.now();
    // A request that begins to wait is no event here, and this is no hot path.
    for (;;) {
      const passed = performance.now() - start;
      const late = passed < lastWordMs ? 0 : (unsent?.() ?? 0);
      if (this.#open <= (waiting?.() ?? 0) + late || passed >= deadlineMs) {
        return Math.max(0, Math.floor(deadlineMs - passed));
      }
      await pause(Math.min(deadlineMs, lookMs));
    }
  }
}

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
    handler,
    limits: httpSettings(options),
    onError: server.onError,
    onResponse(response) {
      response.on("close", open.begin(isEndlessRequest(response.req)));
      if (open.isClosing) response.setHeader("Connection", "close");
    },
  });
  const handle = (
    incoming: ReceivedMessage,
    outgoing: ServerResponse,
    next: NextFunction | RequestContext = {},
  ): void => {
    if (
      typeof next === "function" &&
      !isRoutedToUs(incoming, handle) &&
      !isOurs(incoming, outgoing, handler)
    ) {
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
function isEndlessRequest({ method, headers }: IncomingMessage): boolean {
  return method === "GET" || headers["mcp-method"] === listenMethod;
}

/** Whether a route of Express leads here. An earlier route that matched stays in `route`. */
function isRoutedToUs({ route }: ReceivedMessage, handle: unknown): boolean {
  return route?.stack?.some((layer) => layer.handle === handle) === true;
}

function isOurs(incoming: ReceivedMessage, outgoing: ServerResponse, handler: Handler): boolean {
  const { method = "GET", baseUrl = "" } = incoming;
  // Express passes us everything below another path than ours: our 404 says what to set.
  if (!handler.path.startsWith(baseUrl)) return true;
  return handler.serves(method, pathnameOf(incoming), () => nodeRequest(incoming, outgoing, true));
}

import type { IncomingMessage, Server } from "node:http";
import { listenMethod } from "../../generation/2026-07-28/listen.ts";
import { HoldfastError } from "../../task/fault.ts";
import { assertOptionNames } from "../../task/option-names.ts";
import { assertTaskServer, type TaskServer } from "../task-server.ts";
import { createHandler, type FetchHandler } from "./fetch-handler.ts";
import { httpOptions } from "./http-option-names.ts";
import type { HttpOptions } from "./http-options.ts";
import { connectionLimits } from "./limits.ts";
import { isLoopback, listen, urlOf } from "./listen.ts";
import { createNodeServer } from "./node-server.ts";
import { OpenResponses } from "./open-responses.ts";

/** How long clients may take to send the end of a request, and to read the end of what they listen to. */
const lastWordMs = 1_000;

/** A server that listens. */
export interface HttpServer {
  /** Where clients connect to, with the path. */
  readonly url: string;
  readonly port: number;
  /**
   * Tells listening clients of 2026-07-28 that tools, prompts or resources of the author's own servers changed. The
   * client of a session hears it from its own `McpServer`.
   */
  readonly notify: FetchHandler["notify"];
  /**
   * Takes no more requests, lets those in flight and the tasks end for `stopDeadlineMs` in all, and frees the port.
   * Idempotent.
   */
  close(): Promise<void>;
}

/**
 * Starts the tasks and serves them over HTTP. Rejects with `configuration` and `address_in_use`, before anything was
 * started: another port may be tried; and with what the store rejects with when it cannot be opened.
 *
 * ```ts
 * const http = await serveHttp(tasks.server(makeServer), { port: 3000 });
 * process.on("SIGTERM", () => void http.close());
 * ```
 */
export async function serveHttp(server: TaskServer, options: HttpOptions = {}): Promise<HttpServer> {
  assertTaskServer("serveHttp", server);
  assertOptionNames("serveHttp", options, httpOptions);
  const { host = "127.0.0.1", port = 3000, path = "/mcp" } = options;
  const handler = createHandler(server, withHostDefault(options, host));
  const open = new OpenResponses();
  const listening = new OpenResponses();
  const node = createNodeServer({
    fastPath: handler.fastPath,
    fetch: (request, sender) => handler.fetch(request, sender),
    holderOf: (request) => handler.holderOf(request),
    unread: handler.unread,
    limits: connectionLimits(options),
    onError: server.onError,
    onResponse(response) {
      (isEndless(response.req) ? listening : open).add(response);
      if (!node.listening) response.setHeader("Connection", "close");
    },
  });

  // First the port: where it is taken, nothing was started that would have to be stopped for good.
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
    server.drain();
    const leftMs = await open.drained({
      deadlineMs: server.options.stopDeadlineMs,
      lastWordMs,
      waiting: () => server.waiting,
      asking: () => handler.asking,
    });
    await handler.close();
    // What says that it is over is still on its way to those who listen.
    await Promise.all([listening.drained({ deadlineMs: lastWordMs }), server.stop(leftMs)]);
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

/** A listening stream, or the one stream of a session, has no end of its own; closing the handler ends it. */
function isEndless({ method, headers }: IncomingMessage): boolean {
  return method === "GET" || headers["mcp-method"] === listenMethod;
}

/** Takes no more connections; resolves when those that there are have ended. */
function closed(node: Server): Promise<void> {
  return new Promise((resolve) => node.close(() => resolve()));
}

/** Beyond this machine the server's names are not known, and strangers must not come in by oversight. */
function withHostDefault(options: HttpOptions, host: string): HttpOptions {
  if (isLoopback(host)) return options;
  if (options.authenticate === undefined && options.anonymous === undefined) {
    throw new HoldfastError(
      "configuration",
      `Others can reach ${host}. Give authenticate, or say with anonymous: "isolated" that anyone may call.`,
    );
  }
  return { allowedHosts: "any", ...options };
}

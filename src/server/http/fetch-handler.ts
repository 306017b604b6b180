import type { ServerNotifier } from "@modelcontextprotocol/server";
import { assertOptions } from "../../options/options.ts";
import { assertTaskServer, type TaskServer } from "../task-server.ts";
import { createHandler } from "./handler.ts";
import { fetchHandlerOptions, type FetchHandlerOptions, type RequestContext } from "./http-options.ts";
import { OpenWork } from "./node-handler.ts";
import { isStreamAnswer, responseOf } from "./exchange.ts";
import { isListen } from "./task-listeners.ts";

/** Serves MCP as a function from request to response, for any framework. */
export interface FetchHandler {
  /** `context` is what the framework has already done: a parsed body, an authenticated caller. */
  fetch(request: Request, context?: RequestContext): Promise<Response>;
  /**
   * Notifies listening clients of 2026-07-28 that tools, prompts or resources of your own servers changed. The client of a session is
   * notified by its own `McpServer`.
   */
  readonly notify: ServerNotifier;
  /**
   * Waits up to `stopDeadlineMs` in total for running requests and tasks, stops the tasks and closes their store. Answers 503 from then on.
   * Idempotent.
   */
  close(): Promise<void>;
}

/**
 * Serves `server` on `options.path`. The first request starts the tasks, unless `tasks.start()` did; while they cannot start, requests get
 * 503. `GET /healthz` is 200 while the process lives. `GET /readyz` is 200 once the tasks have started and their store takes writes, otherwise
 * 503. Neither needs authentication. Throws `configuration` for options that contradict each other.
 *
 * ```ts
 * const handler = createFetchHandler(tasks.server(makeServer), { allowedHosts: ["reports.example.com"] });
 * app.all("/mcp", (context) => handler.fetch(context.req.raw));
 * process.on("SIGTERM", () => void handler.close());
 * ```
 */
export function createFetchHandler(server: TaskServer, options: FetchHandlerOptions = {}): FetchHandler {
  assertTaskServer("createFetchHandler", server);
  assertOptions("createFetchHandler", options, fetchHandlerOptions);
  const handler = createHandler(server, options);
  const open = new OpenWork(server, handler);
  return {
    notify: handler.notify,
    async fetch(request, { parsedBody, authInfo } = {}) {
      const ended = open.begin(request.method === "GET" || isListen(request));
      const outgoing = await handler.answer(request, {
        parsed: parsedBody === undefined ? undefined : { value: parsedBody },
        upstream: { auth: authInfo },
      });
      if (isStreamAnswer(outgoing)) outgoing.stream.whenPassedOn(ended);
      else ended();
      return responseOf(handler.headed(outgoing, request.headers.get("origin")));
    },
    close: () => open.close(),
  };
}

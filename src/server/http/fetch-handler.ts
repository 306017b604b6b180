import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
  type ServerNotifier,
} from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import type { TaskServer } from "../task-server.ts";
import type { FetchHandlerOptions } from "./http-options.ts";
import { identify } from "./identify.ts";
import { withStatusOfLegacyCode } from "./legacy-status.ts";
import { refuse } from "./refuse.ts";
import { isListen, TaskListeners } from "./task-listeners.ts";

/** Serves MCP as a function from request to response, for any framework. */
export interface FetchHandler {
  fetch(request: Request): Promise<Response>;
  /** Tells listening clients that tools, prompts or resources of the author's own servers changed. */
  readonly notify: ServerNotifier;
  /** Ends what is in flight, and answers 503 from now on. */
  close(): Promise<void>;
}

const slackBytes = 64 * 1024;

/**
 * Serves `server` on `options.path`, and `GET /healthz`. The caller starts and stops the tasks. Throws
 * `configuration` for options that contradict each other.
 *
 * ```ts
 * const handler = createFetchHandler(tasks.server(makeServer), { allowedHosts: ["reports.example.com"] });
 * await tasks.start();
 * app.all("/mcp", (context) => handler.fetch(context.req.raw));
 * ```
 */
export function createFetchHandler(server: TaskServer, options: FetchHandlerOptions = {}): FetchHandler {
  const path = pathOf(options);
  const principals = new WeakMap<Request, string | null>();
  let closed = false;
  const mcp = createMcpHandler(
    ({ requestInfo, ...context }) => {
      const principal = requestInfo === undefined ? undefined : principals.get(requestInfo);
      // Never serve a request as nobody's because its owner was lost on the way.
      if (principal === undefined || requestInfo === undefined) throw new Error("The request has no owner.");
      return server.create({ ...context, requestInfo }, principal);
    },
    { legacy: "reject", maxRequestBodySize: requestLimit(server, options) },
  );

  const listening = new TaskListeners(server, requestLimit(server, options));

  async function serve(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/healthz" && (request.method === "GET" || request.method === "HEAD"))
      return new Response("ok");
    if (pathname !== path) return refuse(404, `Nothing is served here; MCP is at ${path}.`);
    const forbidden = hostRefusal(request, options) ?? originRefusal(request, options);
    if (forbidden !== undefined) return forbidden;
    const owner = await identify(request, options);
    if (owner === undefined)
      return refuse(401, "Authentication is needed.", { "WWW-Authenticate": "Bearer" });
    principals.set(request, owner.principal);
    const authInfo = owner.authInfo === undefined ? {} : { authInfo: owner.authInfo };
    const response = isListen(request)
      ? await listening.serve(request, owner.principal, (parsedBody) =>
          mcp.fetch(request, { ...authInfo, parsedBody }),
        )
      : await mcp.fetch(request, authInfo);
    return server.legacyErrorCodes ? withStatusOfLegacyCode(response) : response;
  }

  return {
    notify: mcp.notify,
    async fetch(request) {
      if (closed) return refuse(503, "The server is stopping.", { "Retry-After": "1" });
      try {
        return await serve(request);
      } catch (error) {
        server.onError(error);
        return refuse(500, "Internal error", {}, -32603);
      }
    },
    async close() {
      closed = true;
      listening.close();
      await mcp.close();
    },
  };
}

/** The largest request in bytes: the largest arguments, and the message around them. */
export function requestLimit(server: TaskServer, { maxRequestBodySize }: FetchHandlerOptions): number {
  return maxRequestBodySize ?? server.options.maxBodyBytes + slackBytes;
}

export function pathOf({ path = "/mcp", authenticate, anonymous }: FetchHandlerOptions): string {
  if (!path.startsWith("/"))
    throw new HoldfastError("configuration", `path "${path}" has to begin with a slash.`);
  if (authenticate !== undefined && anonymous !== undefined) {
    throw new HoldfastError(
      "configuration",
      "Give authenticate or anonymous: with both, nobody is anonymous.",
    );
  }
  return path;
}

function hostRefusal(request: Request, { allowedHosts }: FetchHandlerOptions): Response | undefined {
  if (allowedHosts === "any") return undefined;
  return hostHeaderValidationResponse(request, [...(allowedHosts ?? localhostAllowedHostnames())]);
}

function originRefusal(request: Request, { allowedOrigins }: FetchHandlerOptions): Response | undefined {
  if (allowedOrigins === "any") return undefined;
  return originValidationResponse(request, [...(allowedOrigins ?? localhostAllowedOrigins())]);
}

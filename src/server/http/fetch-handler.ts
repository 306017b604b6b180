import type { ServerNotifier } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import { assertOptionNames } from "../../task/option-names.ts";
import { assertTaskServer, type TaskServer } from "../task-server.ts";
import type { Principal } from "../per-principal.ts";
import { Admission } from "./admission.ts";
import { AllowedNames } from "./allowed-names.ts";
import { jsonHeaders, withAnswerHeaders } from "./answer-headers.ts";
import { BodyReads } from "./body-reads.ts";
import { corsOf } from "./cors.ts";
import { responseOf, type Outgoing } from "./exchange.ts";
import { FastPath } from "./fast-path.ts";
import { fetchHandlerOptions } from "./http-option-names.ts";
import type { FetchHandlerOptions } from "./http-options.ts";
import { identify, protectedResource, type Sender } from "./identify.ts";
import { batchLimit, bodyReadLimits, unreadLimit } from "./limits.ts";
import { Messages } from "./messages.ts";
import { Probes } from "./probes.ts";
import { readBody } from "./read-body.ts";
import { refuse } from "./refuse.ts";
import { UnreadBytes } from "./unread-bytes.ts";

/** Serves MCP as a function from request to response, for any framework. */
export interface FetchHandler {
  fetch(request: Request): Promise<Response>;
  /**
   * Tells listening clients of 2026-07-28 that tools, prompts or resources of the author's own servers changed. The
   * client of a session hears it from its own `McpServer`.
   */
  readonly notify: ServerNotifier;
  /** Ends what is in flight, and answers 503 from now on. */
  close(): Promise<void>;
}

/**
 * Serves `server` on `options.path`. `GET /healthz` is 200 while the process lives, `GET /readyz` once the tasks have started
 * and their store answers, else 503; both for everybody. The caller starts and stops the tasks. Throws
 * `configuration` for options that contradict each other.
 *
 * ```ts
 * const handler = createFetchHandler(tasks.server(makeServer), { allowedHosts: ["reports.example.com"] });
 * await tasks.start();
 * app.all("/mcp", (context) => handler.fetch(context.req.raw));
 * ```
 */
export function createFetchHandler(server: TaskServer, options: FetchHandlerOptions = {}): FetchHandler {
  assertTaskServer("createFetchHandler", server);
  assertOptionNames("createFetchHandler", options, fetchHandlerOptions);
  const handler = createHandler(server, options);
  return {
    notify: handler.notify,
    fetch: (request) => handler.fetch(request),
    close: () => handler.close(),
  };
}

/** What `serveHttp` knows besides. */
interface Handler extends FetchHandler {
  /** `sender` is who sent the request, if that is known. */
  fetch(request: Request, sender?: Sender): Promise<Response>;
  /** How many responses stay open until their clients have answered questions, which takes further requests. */
  readonly asking: number;
  /** Answers what needs no `Request`. */
  readonly fastPath: FastPath;
  /** What waits for clients. */
  readonly unread: UnreadBytes;
  /** Who sent a request; null where that is not known. */
  holderOf(request: Request): Principal;
}

/** As `createFetchHandler`. */
export function createHandler(server: TaskServer, options: FetchHandlerOptions): Handler {
  const path = pathOf(options);
  const limits = bodyReadLimits(server, options);
  const bodies = new BodyReads(limits);
  const { maxNesting, maxNodes } = server.options;
  const form = { maxNesting, maxNodes, maxBatch: batchLimit(options) };
  const resource = protectedResource(options);
  const cors = corsOf(options);
  const admission = new Admission(server, options, resource);
  const unread = new UnreadBytes(unreadLimit(options));
  const messages = new Messages(server, options, limits.maxBytes, unread);
  const names = new AllowedNames(options, cors);
  const plainHeaders = jsonHeaders(cors);
  const holders = new WeakMap<Request, Principal>();
  let closed = false;
  const probes = new Probes(async () => !closed && server.ready());

  async function admit(request: Request, known?: Sender): Promise<Outgoing> {
    const pathname = pathOfUrl(request.url);
    const probed = await probes.answer(request.method, pathname);
    if (probed !== undefined) return probed;
    return closed
      ? refuse(503, "The server is stopping.", { "Retry-After": "1" })
      : serve(request, pathname, known);
  }

  async function serve(request: Request, pathname: string, known?: Sender): Promise<Outgoing> {
    const document = resource?.document(request);
    if (document !== undefined) return document;
    if (pathname !== path) return refuse(404, `Nothing is served here; MCP is at ${path}.`);
    const forbidden = names.refusal(request);
    if (forbidden !== undefined) return forbidden;
    const preflight = cors?.preflight(request); // which comes without credentials
    if (preflight !== undefined) return preflight;
    const sender = known ?? (await identify(request, options, server.onError));
    if (sender instanceof Response) return sender;
    holders.set(request, sender.principal);
    const read = await readBody(request, bodies, form);
    if (read instanceof Response) return read;
    const { body } = read;
    const arrived = { isGet: request.method === "GET", body, sender, left: () => request.signal };
    return admission.admit(arrived, (admitted) =>
      messages.answer({ request, body, owner: sender, ...admitted }),
    );
  }

  const failed = (error: unknown): Response => {
    server.onError(error);
    return refuse(500, "Internal error", {}, -32603);
  };
  const { maxBytes } = limits;
  const head = {
    server,
    options,
    admission,
    messages,
    names,
    cors,
    maxBytes,
    failed,
    isClosed: () => closed,
  };
  return {
    notify: messages.notify,
    get asking() {
      return messages.asking;
    },
    fastPath: new FastPath(head),
    unread,
    holderOf: (request) => holders.get(request) ?? null,
    async fetch(request, known) {
      const outgoing = await admit(request, known).catch(failed);
      const origin = request.headers.get("origin");
      // In one go: adapters send what was made of plain parts without looking at each.
      return origin === null && outgoing !== undefined && !(outgoing instanceof Response)
        ? responseOf(outgoing, plainHeaders)
        : withAnswerHeaders(responseOf(outgoing), origin, cors);
    },
    async close() {
      closed = true;
      bodies.close();
      await messages.close();
    },
  };
}

function pathOf({ path = "/mcp", authenticate, anonymous }: FetchHandlerOptions): string {
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

/** The path of a URL as `Request` has it: whole, and with all that could be shortened. */
function pathOfUrl(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const end = url.slice(start).search(/[?#]/);
  return end === -1 ? url.slice(start) : url.slice(start, start + end);
}

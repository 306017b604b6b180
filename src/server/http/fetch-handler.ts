import { createMcpHandler, isLegacyRequest, type ServerNotifier } from "@modelcontextprotocol/server";
import { generation as newest } from "../../generation/2026-07-28/name.ts";
import { systemClock } from "../../runtime/clock.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { Owner } from "../access.ts";
import { assertOptionNames } from "../../task/option-names.ts";
import { assertTaskServer } from "../assert-task-server.ts";
import type { TaskServer } from "../task-server.ts";
import { withAnswerHeaders } from "./answer-headers.ts";
import { BodyReads } from "./body-reads.ts";
import { corsOf } from "./cors.ts";
import { FaultsInServing } from "./faults-in-serving.ts";
import { fetchHandlerOptions } from "./http-option-names.ts";
import type { FetchHandlerOptions } from "./http-options.ts";
import { identify, protectedResource } from "./identify.ts";
import { withStatusOfLegacyCode } from "./legacy-status.ts";
import { batchLimit, bodyReadLimits, openRequestsLimits, sessionLimits } from "./limits.ts";
import { nameRefusal } from "./name-refusal.ts";
import { OpenRequests } from "./open-requests.ts";
import { Probes } from "./probes.ts";
import { readBody } from "./read-body.ts";
import { refuse } from "./refuse.ts";
import type { EarlierRevisions, Incoming } from "./sessions/incoming.ts";
import { Sessions } from "./sessions/sessions.ts";
import { SingleRequests } from "./sessions/single-requests.ts";
import { tooManyRequests } from "./too-many-requests.ts";
import { isListen, TaskListeners } from "./task-listeners.ts";

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
  return createHandler(server, options);
}

/** What `serveHttp` knows besides. */
interface Handler extends FetchHandler {
  /** How many responses stay open until their clients have answered questions, which takes further requests. */
  readonly asking: number;
}

/** As `createFetchHandler`. */
export function createHandler(server: TaskServer, options: FetchHandlerOptions): Handler {
  const path = pathOf(options);
  const owners = new WeakMap<Request, Owner>();
  const limits = bodyReadLimits(server, options);
  const bodies = new BodyReads(limits);
  const { maxNesting, maxNodes } = server.options;
  const form = { maxNesting, maxNodes, maxBatch: batchLimit(options) };
  const resource = protectedResource(options);
  const cors = corsOf(options);
  const openRequests = new OpenRequests(openRequestsLimits(options));
  let closed = false;
  const faults = new FaultsInServing(server.onError);
  const mcp = createMcpHandler(
    ({ requestInfo, ...context }) => {
      const owner = requestInfo === undefined ? undefined : owners.get(requestInfo);
      // Never serve a request as nobody's because its owner was lost on the way.
      if (owner === undefined || requestInfo === undefined) throw new Error("The request has no owner.");
      return faults.reportedElsewhere(server.create({ ...context, requestInfo }, owner));
    },
    // Streams are counted where it is known whose they are.
    {
      legacy: "reject",
      maxRequestBodySize: limits.maxBytes,
      maxSubscriptions: Infinity,
      onerror: faults.heard,
    },
  );
  const listening = new TaskListeners(server);
  const earlier = earlierRevisions(server, options);
  const probes = new Probes(async () => !closed && server.ready());

  async function admit(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const probed = await probes.answer(request.method, pathname);
    if (probed !== undefined) return probed;
    return closed ? refuse(503, "The server is stopping.", { "Retry-After": "1" }) : serve(request, pathname);
  }

  async function serve(request: Request, pathname: string): Promise<Response> {
    const document = resource?.document(request);
    if (document !== undefined) return document;
    if (pathname !== path) return refuse(404, `Nothing is served here; MCP is at ${path}.`);
    const forbidden = nameRefusal(request, options, cors);
    if (forbidden !== undefined) return forbidden;
    const preflight = cors?.preflight(request); // which comes without credentials
    if (preflight !== undefined) return preflight;
    const owner = await identify(request, options, server.onError);
    if (owner instanceof Response) return owner;
    const read = await readBody(request, bodies, form);
    if (read instanceof Response) return read;
    const { body } = read;
    const needed = [...(resource?.needed(body, server.isCompanion) ?? [])];
    const beyond = resource?.refusal(owner, needed);
    if (beyond !== undefined) return beyond;
    const limited = await server.rates.refusal(body, owner.principal);
    if (limited !== undefined) return tooManyRequests(body, server.errorOf(limited));
    return openRequests.serve(request, body, owner.principal, () => answer({ request, body, owner, needed }));
  }

  async function answer({ request, body, owner, needed }: Omit<Incoming, "refusal">): Promise<Response> {
    const all = [...needed];
    if (owner.access !== undefined) all.push(...(await server.scopesOfTasks(body, owner.principal)));
    const refusal = (more: readonly string[] = []): Response | undefined =>
      resource?.refusal(owner, [...all, ...more]);
    const beyond = refusal();
    if (beyond !== undefined) return beyond;
    if (await isOfEarlierRevision(request, body)) {
      return earlier.fetch({ request, body, owner, needed: all, refusal });
    }
    owners.set(request, owner);
    const authInfo = owner.authInfo === undefined ? {} : { authInfo: owner.authInfo };
    const forward = (parsedBody: unknown): Promise<Response> =>
      faults.during(() => mcp.fetch(request, { ...authInfo, parsedBody }));
    const response = isListen(request)
      ? await listening.serve(request, owner, body, forward)
      : await forward(body);
    return server.legacyErrorCodes ? withStatusOfLegacyCode(response) : response;
  }

  return {
    notify: mcp.notify,
    get asking() {
      return earlier.asking;
    },
    async fetch(request) {
      let response: Response;
      try {
        response = await admit(request);
      } catch (error) {
        server.onError(error);
        response = refuse(500, "Internal error", {}, -32603);
      }
      return withAnswerHeaders(response, request, cors);
    },
    async close() {
      closed = true;
      bodies.close();
      listening.close();
      await Promise.all([mcp.close(), earlier.close()]);
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

/** A client of 2026-07-28 has no streams to GET, and no session to DELETE: the SDK tells it so. */
async function isOfEarlierRevision(request: Request, body: unknown): Promise<boolean> {
  if (request.headers.get("mcp-protocol-version") === newest && request.method !== "POST") return false;
  return isLegacyRequest(request, body);
}

function earlierRevisions(server: TaskServer, options: FetchHandlerOptions): EarlierRevisions {
  if (options.sessions === false) return new SingleRequests(server);
  return new Sessions({ server, clock: systemClock, ...sessionLimits(options) });
}

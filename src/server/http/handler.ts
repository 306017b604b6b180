import type { ServerNotifier } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import { stoppingText } from "../../task/unanswered.ts";
import { systemClock, toleratedOffsetMs, type Clock } from "../../runtime/clock.ts";
import type { TaskServer } from "../task-server.ts";
import { Admission, AllowedNames, isHttpRefusal, reportHttpRefusal } from "./admission.ts";
import { corsOf, jsonHeaders, refuse, unavailable, withAnswerHeaders } from "./refusals.ts";
import { BodyReads, type ParsedBody, bodyReadLimits, readBody } from "./request-body.ts";
import { isStreamAnswer, responseOf, type Outgoing } from "./exchange.ts";
import { httpSettings, type FetchHandlerOptions } from "./http-options.ts";
import { identify, protectedResource, type Sender, type Upstream } from "./identify.ts";
import { Messages } from "./messages.ts";
import { type HttpRequest, pathOf, webOf } from "./http-request.ts";
import { UnreadBytes } from "./unread-bytes.ts";

/** How a request arrived. */
export interface Arrival {
  /** Its body, if that was read already. */
  readonly parsed?: ParsedBody | undefined;
  /** What authentication before us left. */
  readonly upstream?: Upstream;
  /** Its sender, once that is known. */
  sender?: Sender;
}

/** What serves requests, for `createFetchHandler` and `createNodeHandler`. It starts the tasks; it does not stop them. */
export interface Handler {
  /** What goes out for a request; never rejects. */
  answer(request: HttpRequest, arrival: Arrival): Promise<Outgoing>;
  /** The same with all of its head; `origin` is the header of its request. */
  headed(outgoing: Outgoing, origin: string | null): Outgoing;
  readonly notify: ServerNotifier;
  /** Whether a request of this path is ours; `request` makes it, if more has to be known of it. */
  serves(method: string, pathname: string, request: () => HttpRequest | undefined): boolean;
  /** The path of the MCP endpoint. */
  readonly path: string;
  /** The number of requests that have not ended. */
  readonly receiving: number;
  /** How many responses stay open until their clients have answered questions, which takes further requests. */
  readonly asking: number;
  /** What waits for clients. */
  readonly unread: UnreadBytes;
  /** Ends what is in flight, and answers 503 from now on. */
  close(): Promise<void>;
}

/** Throws `configuration` for options that contradict each other. */
export function createHandler(server: TaskServer, options: FetchHandlerOptions): Handler {
  assertOneAuthentication(options);
  const limits = bodyReadLimits(server, options);
  const bodies = new BodyReads(limits);
  const { maxNesting, maxNodes } = server.options;
  const { path, maxBatch, maxOutgoingBytes } = httpSettings(options);
  const form = { maxNesting, maxNodes, maxBatch };
  const resource = protectedResource(options);
  const cors = corsOf(options);
  const admission = new Admission(server, options, resource);
  const unread = new UnreadBytes(maxOutgoingBytes);
  const messages = new Messages(server, options, limits.maxBytes, unread);
  const names = new AllowedNames(options, cors);
  const plainHeaders = jsonHeaders(cors);
  const start = new TaskStart(server, systemClock);
  const closing = Promise.withResolvers<string>();
  let started = false;
  let closed = false;
  const ready = async (): Promise<boolean> => {
    if (closed) return false;
    void start.fault(); // a load balancer may send no request before it is told that there is a server
    return server.ready();
  };
  const probes = new Probes(ready, server);

  function documentFor(pathname: string, request: HttpRequest): Response | undefined {
    return isWellKnown(pathname) ? resource?.document(webOf(request)) : undefined;
  }

  async function admit(request: HttpRequest, arrival: Arrival): Promise<Outgoing> {
    const pathname = pathOf(request);
    if (probes.has(request.method, pathname)) return probes.answer(pathname);
    if (closed) return unavailable(stoppingText);
    const document = documentFor(pathname, request);
    if (document !== undefined) return document;
    if (pathname !== path) {
      return refuse(404, `Nothing is served at ${pathname}. The MCP endpoint is at ${path} (option path).`);
    }
    const forbidden = names.refusal(request);
    if (forbidden !== undefined) return forbidden;
    const preflight = cors?.preflight(request); // which comes without credentials
    if (preflight !== undefined) return preflight;
    const identified = identify(request, arrival.upstream, options, server.onError);
    const sender = identified instanceof Promise ? await identified : identified;
    if (sender instanceof Response) return sender;
    arrival.sender = sender;
    // Before its body, which takes no memory as long as it is not read.
    const fault = started ? undefined : await Promise.race([start.fault(), closing.promise]);
    if (fault !== undefined || closed) return unavailable(fault ?? stoppingText);
    started = true;
    const read = await readBody(request, bodies, form, arrival.parsed);
    if (read instanceof Response) return read;
    const { body } = read;
    return admission.admit({ request, isGet: request.method === "GET", body, sender }, (admitted) =>
      messages.answer({ request, body, owner: sender, admitted }),
    );
  }

  const failed = (error: unknown): Response => {
    server.onError(error);
    return refuse(500, "Internal error", {}, -32603);
  };
  const { events } = server;
  const answer: Handler["answer"] = async (request, arrival) => {
    let outgoing: Outgoing;
    try {
      outgoing = await admit(request, arrival);
    } catch (error) {
      outgoing = failed(error);
    }
    if (events !== undefined && isHttpRefusal(outgoing)) {
      const method = request.headers.get("mcp-method") ?? undefined;
      reportHttpRefusal(events, outgoing, { principal: arrival.sender?.principal ?? null, method });
    }
    return outgoing;
  };
  const headed: Handler["headed"] = (outgoing, origin) => {
    if (outgoing === undefined || outgoing instanceof Response) {
      return withAnswerHeaders(responseOf(outgoing), origin, cors);
    }
    if (isStreamAnswer(outgoing))
      return { ...outgoing, head: withAnswerHeaders(outgoing.head, origin, cors) };
    const headers = origin === null ? plainHeaders : { ...plainHeaders, ...cors?.readableBy(origin) };
    return { ...outgoing, headers };
  };
  return {
    notify: messages.notify,
    path,
    serves(method, pathname, request) {
      if (pathname === path || probes.has(method, pathname)) return true;
      const made = isWellKnown(pathname) ? request() : undefined;
      return made !== undefined && documentFor(pathname, made) !== undefined;
    },
    get receiving() {
      return bodies.receiving;
    },
    get asking() {
      return messages.asking;
    },
    unread,
    answer,
    headed,
    async close() {
      closed = true;
      closing.resolve(stoppingText); // a start that is under way may take any time
      bodies.close();
      await messages.close();
    },
  };
}

/** Where public documents are. */
function isWellKnown(pathname: string): boolean {
  return pathname.startsWith("/.well-known/");
}

function assertOneAuthentication({ authenticate, anonymous }: FetchHandlerOptions): void {
  if (authenticate === undefined || anonymous === undefined) return;
  const message = "Set authenticate or anonymous, not both: with authenticate, no caller is anonymous.";
  throw new HoldfastError("configuration", message);
}

/** Answers health checks without a token: `/healthz` says that the process lives, `/readyz` whether it accepts requests. */
export class Probes {
  readonly #ready: () => Promise<boolean>;
  readonly #server: Pick<TaskServer, "clock" | "isDrained">;
  #looking: Promise<boolean> | undefined;

  constructor(ready: () => Promise<boolean>, server: Pick<TaskServer, "clock" | "isDrained">) {
    this.#ready = ready;
    this.#server = server;
  }

  /** Whether `answer` answers such a request. */
  has(method: string, pathname: string): boolean {
    return (method === "GET" || method === "HEAD") && (pathname === "/healthz" || pathname === "/readyz");
  }

  async answer(pathname: string): Promise<Response> {
    if (pathname === "/healthz") return new Response("ok");
    const isReady = await this.#look();
    if (isReady) return new Response(readyText(this.#server.clock.offsetMs));
    const problem = this.#server.isDrained
      ? "An operator drains this process: it takes nothing new."
      : "The server cannot accept requests right now.";
    return unavailable(problem);
  }

  /** One check at a time, because anyone may ask as often as they like. */
  async #look(): Promise<boolean> {
    this.#looking ??= this.#ready();
    try {
      return await this.#looking;
    } finally {
      this.#looking = undefined;
    }
  }
}

function readyText(offsetMs: number): string {
  if (Math.abs(offsetMs) <= toleratedOffsetMs) return "ready";
  const seconds = Math.round(Math.abs(offsetMs) / 1_000);
  return `ready, but this machine's clock is ${seconds} s ${offsetMs > 0 ? "behind" : "ahead of"} that of the database`;
}

/** How long a start that failed is not tried again, in ms: each attempt opens the store. */
const pauseMs = 1_000;

/** Starts the tasks when the first request needs them, and again when that failed. */
export class TaskStart {
  readonly #server: TaskServer;
  readonly #clock: Clock;
  #attempt: Promise<string | undefined> | undefined;
  #reported: unknown;

  constructor(server: TaskServer, clock: Clock) {
    this.#server = server;
    this.#clock = clock;
  }

  /** Resolves when the tasks have started, or with what to tell callers if they could not. Never rejects. */
  fault(): Promise<string | undefined> {
    return (this.#attempt ??= this.#start());
  }

  async #start(): Promise<string | undefined> {
    try {
      await this.#server.start();
      return undefined;
    } catch (error) {
      this.#clock.after(pauseMs, () => (this.#attempt = undefined));
      if (error instanceof HoldfastError && error.code === "stopping") return error.message;
      // A start that failed for good rejects with the same error each time.
      if (error !== this.#reported) this.#server.onError(error);
      this.#reported = error;
      return "The server could not start running tasks. See its log for the reason.";
    }
  }
}

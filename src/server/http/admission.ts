import {
  type JSONRPCRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  validateHostHeader,
  validateOriginHeader,
} from "@modelcontextprotocol/server";
import type { HttpRefusal } from "../../runtime/events/server-event.ts";
import type { ServerEvents } from "../../runtime/events/server-events.ts";
import { isJsonObject } from "../../generation/message.ts";
import { refused, type RefusedRequest } from "../faults.ts";
import { isStreamAnswer, type Outgoing } from "./exchange.ts";
import { type Cors, isTooFast, refuse, tooFastRequests } from "./refusals.ts";
import {
  type FetchHandlerOptions,
  type HttpSettings,
  httpSettings,
  type ProtectedResource,
} from "./http-options.ts";
import type { TaskServer } from "../task-server.ts";
import { type HttpRequest, isGone } from "./http-request.ts";
import type { Sender } from "./identify.ts";
import { PerPrincipal } from "../limits.ts";
import { tooManyOpen, tooManyStreams } from "./sessions/refusals.ts";
import { requestIds } from "./sessions/request-ids.ts";

/** Reports an answer by which HTTP refuses a request. Refusals of JSON-RPC have a success status, or are reported where they occur. */
export function reportHttpRefusal(events: ServerEvents, answer: Response, request: RefusedRequest): void {
  const { status } = answer;
  const code = isTooFast(answer) ? "rate_limited" : (httpRefusals[status] ?? otherRefusal(status));
  events.emit({ ...refused(request), code, status });
}

/** Checked for every answer before it is sent. */
export function isHttpRefusal(answer: Outgoing): answer is Response {
  return answer instanceof Response && answer.status >= 400;
}

const httpRefusals: Readonly<Record<number, HttpRefusal>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  413: "too_large",
  429: "limit_reached",
  503: "unavailable",
};

function otherRefusal(status: number): HttpRefusal | "internal" {
  return status < 500 ? "invalid_request" : "internal";
}

/** `Host` headers whose names were checked. */
const mostHosts = 100;

/** The names under which a server is reached, and those of the pages that may call it. */
export class AllowedNames {
  readonly #hosts: string[] | "any";
  readonly #origins: string[] | "any";
  readonly #cors: Cors | undefined;
  /** By header: clients send the same one with each request. */
  readonly #checked = new Map<string, boolean>();

  constructor(options: FetchHandlerOptions, cors: Cors | undefined) {
    const { allowedHosts = localhostAllowedHostnames() } = options;
    const { allowedOrigins = localhostAllowedOrigins() } = options;
    this.#hosts = allowedHosts === "any" ? "any" : allowedHosts.map(inHeaders);
    this.#origins = allowedOrigins === "any" ? "any" : allowedOrigins.map(inHeaders);
    this.#cors = cors;
  }

  allowsHost(host: string | null | undefined): boolean {
    if (this.#hosts === "any") return true;
    if (host === null || host === undefined) return false;
    const known = this.#checked.get(host);
    if (known !== undefined) return known;
    const { ok } = validateHostHeader(host, this.#hosts);
    if (this.#checked.size >= mostHosts) this.#checked.clear();
    this.#checked.set(host, ok);
    return ok;
  }

  /**
   * The refusal of a request to, or from, a name that is not allowed. It says what to change: usually it is the first request through a new
   * proxy.
   */
  refusal({ headers }: Pick<HttpRequest, "headers">): Response | undefined {
    const host = headers.get("host");
    if (!this.allowsHost(host)) return forbidden(hostFault(host));
    const origin = headers.get("origin");
    if (origin === null || this.#origins === "any" || this.#cors?.allows(origin) === true) return undefined;
    const { ok } = validateOriginHeader(origin, this.#origins);
    return ok ? undefined : forbidden(originFault(origin));
  }
}

/** A host name as parsed URLs have it. */
const inHeaders = (name: string): string => name.toLowerCase();

function hostFault(host: string | null): string {
  if (host === null) return "The request has no Host header.";
  const name = hostnameOf(`http://${host}`);
  return name === ""
    ? `The Host header "${host}" is not a valid host.`
    : `Host "${name}" is not allowed: add "${name}" to the option allowedHosts.`;
}

function originFault(origin: string): string {
  const name = hostnameOf(origin);
  return name === ""
    ? `Origin "${origin}" is not allowed: it has no host name, so only allowedOrigins: "any" allows it.`
    : `Origin "${origin}" is not allowed: add "${name}" to the option allowedOrigins, or "${origin}" to cors.`;
}

function hostnameOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : "";
}

function forbidden(message: string): Response {
  return refuse(403, message, {}, -32000);
}

/** A request with a known sender and body. */
export interface Arrived {
  readonly request: HttpRequest;
  readonly isGet: boolean;
  /** The parsed JSON of a POST; undefined for other methods. */
  readonly body: unknown;
  readonly sender: Sender;
}

/** Answers a request that was let in. */
export type Respond = (admitted: Admitted) => Promise<Outgoing>;

/** A request that was let in. Only `Admission` can make one, so what takes one is reached through `admit` alone. */
class AdmittedRequest {
  readonly #admission: Admission;
  readonly #resource: ProtectedResource | undefined;
  readonly #arrived: Arrived;
  /** The scopes that it needed of its sender's token. */
  readonly needed: readonly string[];

  constructor(
    admission: Admission,
    resource: ProtectedResource | undefined,
    arrived: Arrived,
    needed: readonly string[],
  ) {
    this.#admission = admission;
    this.#resource = resource;
    this.#arrived = arrived;
    this.needed = needed;
  }

  get sender(): Sender {
    return this.#arrived.sender;
  }

  /** The refusal of it, if it needs these scopes too. */
  refusal(more: readonly string[] = []): Response | undefined {
    return this.#resource?.refusal(this.sender, [...this.needed, ...more]);
  }

  /** Admits messages that the request stands for, as if its sender had sent them. */
  admit(messages: readonly JSONRPCRequest[], respond: Respond): Promise<Outgoing> {
    return this.#admission.admit({ ...this.#arrived, isGet: false, body: messages }, respond);
  }
}

export type Admitted = AdmittedRequest;

const reads: readonly unknown[] = ["tasks/get", "tasks/list", "tasks/result"];

/** Whether nothing is lost if a message is not looked at because its sender has left. */
function onlyReads(body: unknown): boolean {
  return isJsonObject(body) && reads.includes(body["method"]);
}

/** What is asked of each request once its sender and body are known: scopes, then rates, then room for it. */
export class Admission {
  readonly #server: TaskServer;
  readonly #resource: ProtectedResource | undefined;
  readonly #openRequests: OpenRequests;
  readonly #turns = new AnswerTurns();

  constructor(server: TaskServer, options: FetchHandlerOptions, resource: ProtectedResource | undefined) {
    this.#server = server;
    this.#resource = resource;
    this.#openRequests = new OpenRequests(httpSettings(options));
  }

  /** What `respond` answers, or the refusal. The request counts as open until its answer has gone out. */
  async admit(arrived: Arrived, respond: Respond): Promise<Outgoing> {
    const turn = this.#turns.take();
    if (turn !== undefined) await turn;
    const { request, body, sender } = arrived;
    const { principal } = sender;
    const needed = [...(this.#resource?.needed(body, this.#server.isPollingTool) ?? [])];
    const beyond = this.#resource?.refusal(sender, needed);
    if (beyond !== undefined) return beyond;
    const limited = await this.#server.rates.refusal(body, principal);
    if (limited !== undefined) return tooFastRequests(body, this.#server.errorOf(limited));
    if (isGone(request) && onlyReads(body)) return undefined;
    return this.#openRequests.serve(arrived, async () => {
      if (sender.access !== undefined) needed.push(...(await this.#server.scopesOfTasks(body, principal)));
      const admitted = new AdmittedRequest(this, this.#resource, arrived, needed);
      return admitted.refusal() ?? respond(admitted);
    });
  }
}

/**
 * The requests that each principal has open: from when they are understood until their answers have gone out; and the streams
 * that it opened by GET.
 */
class OpenRequests {
  readonly #maxRequests: number;
  /** Those of its sessions, and those on which it gets what it missed. */
  readonly #maxStreams: number;
  /** Those of a batch are several. */
  readonly #requests = new PerPrincipal<object>();
  readonly #streams = new PerPrincipal<object>();

  constructor({ maxOpenRequestsPerPrincipal, maxSessionsPerPrincipal }: HttpSettings) {
    this.#maxRequests = maxOpenRequestsPerPrincipal;
    this.#maxStreams = maxSessionsPerPrincipal + maxOpenRequestsPerPrincipal;
  }

  /** Answers a request with `respond`, or refuses it if its sender has too many open. */
  async serve({ isGet, body, sender }: Arrived, respond: () => Promise<Outgoing>): Promise<Outgoing> {
    const holder = sender.principal;
    const places = isGet ? [{}] : requestIds(body).map(() => ({}));
    // Anonymous callers are not counted, and a notification, such as a cancel, waits for no answer.
    if (holder === null || places.length === 0) return respond();
    const open = isGet ? this.#streams : this.#requests;
    const max = isGet ? this.#maxStreams : this.#maxRequests;
    if (open.count(holder) + places.length > max) {
      return isGet ? tooManyStreams(max) : tooManyOpen(body, "principal", max);
    }
    for (const place of places) open.add(holder, place);
    const end = (): void => {
      for (const place of places) open.remove(holder, place);
    };
    try {
      const answer = await respond();
      if (isStreamAnswer(answer)) answer.stream.whenPassedOn(end);
      else end();
      return answer;
    } catch (error) {
      end();
      throw error;
    }
  }
}

/** How long requests are answered before the event loop turns, in ms. A large answer takes longer, and is then the only one. */
const turnMs = 8;

/** How often the event loop turns for each millisecond that was spent on answers: it accepts one connection at a time. */
const turnsPerMs = 2;

/**
 * Begins to answer requests as they arrive, as long as that is quick. When it has taken some milliseconds, what arrives waits until the event
 * loop has turned for a while: probes and connections of others are served meanwhile, and of large answers only a few are in memory.
 */
export class AnswerTurns {
  readonly #now: () => number;
  readonly #waiting: (() => void)[] = [];
  /** When the first request of this turn was begun; undefined: there was none. */
  #since: number | undefined;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Undefined if a request can be begun now, otherwise a promise that resolves when it can. */
  take(): Promise<void> | undefined {
    if (this.#since === undefined) {
      this.#since = this.#now();
      setImmediate(this.#turned);
      return undefined;
    }
    if (this.#waiting.length === 0 && this.#passed < turnMs) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  get #passed(): number {
    return this.#now() - (this.#since ?? 0);
  }

  readonly #turned = (): void => {
    if (this.#waiting.length === 0) this.#since = undefined;
    else this.#pause(turnMs);
  };

  #pause(spentMs: number): void {
    let turns = Math.ceil(spentMs * turnsPerMs);
    const turn = (): void => {
      if (--turns > 0) setImmediate(turn);
      else this.#begin(this.#now());
    };
    setImmediate(turn);
  }

  #begin(since: number): void {
    this.#since = since;
    this.#waiting.shift()?.();
    // When it is answered, or waits for the store: only then it is known how long that took.
    queueMicrotask(() =>
      process.nextTick(() => {
        if (this.#waiting.length === 0) setImmediate(this.#turned);
        else if (this.#passed < turnMs) this.#begin(since);
        else this.#pause(this.#passed);
      }),
    );
  }
}

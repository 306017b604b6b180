import type { TimeSpan } from "../../task/time.ts";
import type { IncomingMessage } from "node:http";
import type { AuthInfo } from "@modelcontextprotocol/server";
import {
  callback,
  choice,
  flag,
  isFunction,
  isObject,
  listOrAny,
  number,
  options,
  settingsOf,
  size,
  tableOf,
  text,
  time,
  value,
  type Settings,
} from "../../options/options.ts";
import type { Access } from "../request.ts";
import type { OnError } from "../faults.ts";
import {
  adminEndpointOptions,
  type AdminEndpointOptions,
  dashboardEndpointOptions,
  type DashboardEndpointOptions,
  DeclaredRequestOptions,
  type EndpointBeside,
  longestMs,
  metricsEndpointOptions,
  type MetricsEndpointOptions,
} from "./operator-options.ts";

/** Who sent a request: the owner of its tasks, and what the SDK passes to your own tools. */
export interface Identity {
  /** A stable name of the user or client, not empty. Tasks of one principal are hidden from all others. */
  readonly principal: string;
  readonly authInfo?: AuthInfo;
  /**
   * Facts about the sender for handlers, as `task.caller.claims`, such as a user's tenant. Stored with each task, so put no token into it.
   * Plain JSON data.
   */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** What `task.credentials()` returns to handlers, such as a token for another service. In memory only. */
  readonly credentials?: unknown;
  /** What the sender's token allows. Left out: everything that its principal may do. */
  readonly access?: Access;
}

/** Other facts about a request; each is left out if there is none. */
export interface AuthenticationContext {
  /** The result of a framework's authentication: `req.auth`, or the `authInfo` passed to the handler. */
  readonly authInfo?: AuthInfo;
  /** Node's request object, including what middleware added to it, such as `req.user`. */
  readonly incoming?: IncomingMessage;
}

/**
 * Identifies the sender of a request. Returns an identity, or just the principal's name; `undefined` refuses the request with 401. Use only
 * the request's headers: its body is read later.
 */
export type Authenticate = (
  request: Request,
  context: AuthenticationContext,
) => Promise<Identity | string | undefined>;

/** What a framework did with a request before it passed it on. */
export interface RequestContext {
  /** The body, if it was already read: the parsed JSON, or its bytes. The same limits apply. */
  readonly parsedBody?: unknown;
  /**
   * The sender, as the SDK describes callers. Without the option `authenticate`, its principal is the subject (`extra.sub`, with the issuer
   * `extra.iss`); a sender without a subject is refused.
   */
  readonly authInfo?: AuthInfo;
}

/** What `oauthResource` of `holdfast/auth` returns. */
export interface ProtectedResource {
  /** The answer to a request for a public document; undefined for all other requests. */
  document(request: Request): Response | undefined;
  /** The sender of a request, or the refusal. Details that the caller must not see go to `onError`. */
  authenticate(request: Request, onError: OnError): Promise<Identity | Response>;
  /** The scopes that a parsed body (one message or a batch) needs. */
  needed(
    body: unknown,
    /** Whether a tool is one of the polling tools of clients without tasks. */
    isPollingTool?: (tool: string) => boolean,
  ): Iterable<string>;
  /** The refusal of a request that needs these scopes; undefined if the sender's token has them all. */
  refusal(sender: Pick<Identity, "authInfo">, needed: Iterable<string>): Response | undefined;
}

/**
 * How to treat unauthenticated callers. `isolated`: they are not told apart, and anyone with a task's id can access the task. `shared`: all
 * are one principal. `refused`: they get 401, so only callers that a framework authenticated get in.
 */
export type Anonymous = "isolated" | "shared" | "refused";

class DeclaredCorsOptions {
  /**
   * Origins whose web pages may read answers, as browsers write them: `https://app.example.com`, with a port other than the scheme's
   * default. They also pass the Origin check, whatever `allowedOrigins` says. `any` needs `allowedOrigins: "any"`.
   */
  readonly origins: readonly string[] | "any" = listOrAny(
    "origins such as `https://app.example.com`",
    isOrigin,
    { required: true, variable: "HOLDFAST_CORS_ORIGINS" },
  );
  /** How long browsers may cache a preflight answer, in seconds. Default 600. */
  readonly maxAgeS?: number = number({ min: 0, default: 600 });
  /** Whether browsers send cookies, for an `authenticate` that reads them. Default `false`. */
  readonly credentials?: boolean = flag({ default: false });
}

/** Which web pages may read the server's answers. */
export interface CorsOptions extends DeclaredCorsOptions {}

export const corsOptions = tableOf<CorsOptions>(DeclaredCorsOptions);

/** A session of protocol 2025-11-25 or before, in this process. */
export interface HttpSession {
  /** What its client sends as `Mcp-Session-Id`. Without authentication, whoever has it can use the session: keep it out of logs. */
  readonly id: string;
  /** The principal that opened it; `null` for callers that are not told apart. */
  readonly principal: string | null;
}

class DeclaredFetchHandlerOptions extends DeclaredRequestOptions {
  /** The full path of the MCP endpoint, wherever the handler is mounted. Default `/mcp`. */
  readonly path?: string = text("a path that begins with `/`", isPath, {
    default: "/mcp",
    variable: "HOLDFAST_PATH",
  });
  /** Identifies the caller of a request: your own function, or the result of `oauthResource` from `holdfast/auth`. */
  readonly authenticate?: Authenticate | ProtectedResource = value(
    "a function, or what oauthResource() of holdfast/auth returns",
    isAuthentication,
    { secret: true }, // may be a token by mistake
  );
  /** How to treat callers that no framework authenticated. Cannot be combined with `authenticate`. Default `isolated`. */
  readonly anonymous?: Anonymous = choice(["isolated", "shared", "refused"], { default: "isolated" });
  /** Web pages of other origins that may read answers. Default: none. */
  readonly cors?: CorsOptions = options(corsOptions);
  /**
   * Total size of responses that clients have not read yet. Above it, of the principal that holds most, the connection that has read nothing
   * for longest is closed. One response counts as at most half of the limit. With `createFetchHandler`, the framework holds responses
   * itself; only data waiting on streams counts. Default 256 MiB.
   */
  readonly maxOutgoingBytes?: number = size({
    min: 1,
    default: 256 * 1024 ** 2,
    variable: "HOLDFAST_MAX_OUTGOING_BYTES",
  });
  /** Maximum number of messages in one batch (protocol 2025-03-26 and before); more get 400. Default 50. */
  readonly maxBatch?: number = number({ min: 1, default: 50, variable: "HOLDFAST_MAX_BATCH" });
  /**
   * Maximum number of streams on which clients of 2026-07-28 listen (`subscriptions/listen`). A new one above the limit ends the oldest of the
   * principal, or of the address, that has most, if that has more; otherwise it gets 429. Default 10,000.
   */
  readonly maxListens?: number = number({ min: 1, default: 10_000, variable: "HOLDFAST_MAX_LISTENS" });
  /**
   * Whether clients of protocol 2025-11-25 and before get a session. A session has a stream for notifications and questions, and replays
   * what a client missed when a stream broke: the newest 1,000 messages or 4 MiB, whichever is less. All sessions together hold 256 MiB;
   * above that, the principal that holds most loses its oldest messages first. A session survives a restart of its server: the factory
   * makes a new server, which gets the client's handshake, log level and subscriptions, up to 64 KiB. Other state that the old server had in
   * memory for the session is lost. A session belongs to one process at a time, so a load balancer has to route it there. Without sessions
   * each request stands alone, GET and DELETE get 405, and the server cannot ask the client anything. Default `true`.
   */
  readonly sessions?: boolean = flag({ default: true });
  /**
   * Whether requests of protocol 2025-11-25 and before are answered as JSON, as those are whose `Accept` header names no stream: the response
   * is the answer alone, when there is one. Progress and log messages of the request are then dropped. Questions and what is about a task
   * go to the client's stream of its own (GET), if it has one open, and a response whose connection broke cannot be resumed. Default `false`:
   * on a stream.
   */
  readonly enableJsonResponse?: boolean = flag({ default: false });
  /**
   * Called when a session opens in this process: after its handshake, and when it is continued from another process or an earlier one, under
   * the same id. The client's first answer waits for the promise that it may return.
   */
  readonly onSessionOpened?: (session: HttpSession) => unknown = callback();
  /**
   * Called when a session that was opened leaves this process: its client ended it, it was idle for too long, another one needed its place, or
   * the server stops. After a stop it may be continued, and is then opened again. Its tasks continue.
   */
  readonly onSessionClosed?: (session: HttpSession) => unknown = callback();
  /**
   * How long a session may have no open request or stream before it ends. Its tasks continue, and with an unfinished one the session stays in
   * the store for a week more. Default 30 minutes.
   */
  readonly sessionIdleMs?: TimeSpan = time({
    min: 1,
    default: 30 * 60_000,
    variable: "HOLDFAST_SESSION_IDLE",
  });
  /**
   * How long a session may stay unused after its handshake before it ends. Once `maxSessions` are open, a session that was idle for this
   * long makes room for a new one. Default 1 minute.
   */
  readonly unusedSessionMs?: TimeSpan = time({
    min: 1,
    default: 60_000,
    variable: "HOLDFAST_UNUSED_SESSION",
  });
  /**
   * Maximum number of sessions at the same time. A new one above the limit ends a session of the principal that has most, idle ones first,
   * if that has more than the new session's principal; otherwise one that was idle for `unusedSessionMs`. If there is none, the new session
   * gets 503. Default 10,000.
   */
  readonly maxSessions?: number = number({ min: 1, default: 10_000, variable: "HOLDFAST_MAX_SESSIONS" });
  /** Maximum number of sessions of one principal. One more ends an idle one, or gets 429. Default 1,000. */
  readonly maxSessionsPerPrincipal?: number = number({
    min: 1,
    default: 1_000,
    variable: "HOLDFAST_MAX_SESSIONS_PER_PRINCIPAL",
  });
  /**
   * How long a request of a session is held after its connection broke, so that the client can resume its stream. After that a wait for a
   * task ends; the task continues. Above 10,000 such requests in all sessions, those of the principal with most of them end first. Default
   * 1 minute.
   */
  readonly resumeMs?: TimeSpan = time({ min: 1, default: 60_000, variable: "HOLDFAST_RESUME" });
  /** Maximum number of unanswered requests of one session; one more gets 429. Default 500. */
  readonly maxOpenRequestsPerSession?: number = number({
    min: 1,
    default: 500,
    variable: "HOLDFAST_MAX_OPEN_REQUESTS_PER_SESSION",
  });
  /**
   * Maximum number of open requests of one principal, with and without sessions; one more gets 429. As many requests again may be held for
   * `resumeMs`, where the oldest make room, and as many streams may be open. Default 1,000.
   */
  readonly maxOpenRequestsPerPrincipal?: number = number({
    min: 1,
    default: 1_000,
    variable: "HOLDFAST_MAX_OPEN_REQUESTS_PER_PRINCIPAL",
  });
}

/** Options of `createFetchHandler`. */
export interface FetchHandlerOptions extends DeclaredFetchHandlerOptions {}

export const fetchHandlerOptions = tableOf<FetchHandlerOptions>(DeclaredFetchHandlerOptions);

class DeclaredNodeHandlerOptions extends DeclaredFetchHandlerOptions {
  /** How long a client may leave waiting data unread before its connection is closed. Default 1 minute. */
  readonly stallTimeoutMs?: TimeSpan = time({
    min: 1,
    max: longestMs,
    default: 60_000,
    variable: "HOLDFAST_STALL_TIMEOUT",
  });
  /** Maximum number of headers of one request; more get 431. Default 100. */
  readonly maxHeaders?: number = number({ min: 1, default: 100, variable: "HOLDFAST_MAX_HEADERS" });
}

/** Options of `createNodeHandler`. */
export interface NodeHandlerOptions extends DeclaredNodeHandlerOptions {}

export const nodeHandlerOptions = tableOf<NodeHandlerOptions>(DeclaredNodeHandlerOptions);

class DeclaredHttpOptions extends DeclaredNodeHandlerOptions {
  /** The port. 0 takes a free one. Default 3,000. */
  readonly port?: number = number({ min: 0, max: 65_535, default: 3000, variable: "HOLDFAST_PORT" });
  /**
   * The address to listen on. Any but one of this machine's own needs `authenticate`, or an explicit `anonymous`. Default `127.0.0.1`: this
   * machine only.
   */
  readonly host?: string = text("an address or a name of this machine", (name) => name !== "", {
    default: "127.0.0.1",
    variable: "HOLDFAST_HOST",
  });
  /** How long a client may take to send the headers of a request. Default 15 seconds. */
  readonly headersTimeoutMs?: TimeSpan = time({
    min: 1,
    max: longestMs,
    default: 15_000,
    variable: "HOLDFAST_HEADERS_TIMEOUT",
  });
  /** How long a connection stays open between two requests. Default 5 seconds. */
  readonly keepAliveTimeoutMs?: TimeSpan = time({
    min: 1,
    max: longestMs,
    default: 5_000,
    variable: "HOLDFAST_KEEP_ALIVE_TIMEOUT",
  });
  /** Maximum number of connections at the same time; one more is closed at once. Default 10,000. */
  readonly maxConnections?: number = number({
    min: 1,
    default: 10_000,
    variable: "HOLDFAST_MAX_CONNECTIONS",
  });
  /** Maximum total size of the headers of one request; more get 431. Default 16 KiB. */
  readonly maxHeaderBytes?: number = size({
    min: 1,
    default: 16 * 1024,
    variable: "HOLDFAST_MAX_HEADER_BYTES",
  });
  /** An endpoint for operators on the same host and port. Default: none. */
  readonly admin?: AdminEndpointOptions = options(adminEndpointOptions);
  /** An endpoint for systems that collect metrics, such as Prometheus, on the same host and port. Default: none. */
  readonly metrics?: MetricsEndpointOptions = options(metricsEndpointOptions);
  /** A dashboard for operators, on the same host and port. Default: none. */
  readonly dashboard?: DashboardEndpointOptions = options(dashboardEndpointOptions);
  /** The addresses of waits for events, on the same host and port: what `createEventHandler(tasks)` returns. Default: none. */
  readonly events?: EndpointBeside = value("what createEventHandler() returns", isFunction);
}

/** Options of `serveHttp`. */
export interface HttpOptions extends DeclaredHttpOptions {}

export const httpOptions = tableOf<HttpOptions>(DeclaredHttpOptions);

type WithoutDefault =
  | "allowedHosts"
  | "allowedOrigins"
  | "maxRequestBodySize"
  | "authenticate"
  | "cors"
  | "admin"
  | "metrics"
  | "dashboard"
  | "events"
  | "onSessionOpened"
  | "onSessionClosed";

/** The options with their defaults. */
export type HttpSettings = Settings<HttpOptions, WithoutDefault>;

/** Those of sessions. */
export type SessionSettings = Pick<
  HttpSettings,
  | "sessionIdleMs"
  | "unusedSessionMs"
  | "maxSessions"
  | "maxSessionsPerPrincipal"
  | "resumeMs"
  | "maxOpenRequestsPerSession"
  | "maxOpenRequestsPerPrincipal"
  | "onSessionOpened"
  | "onSessionClosed"
>;

export function httpSettings(given: HttpOptions): HttpSettings {
  return settingsOf<HttpOptions, WithoutDefault>(httpOptions, given);
}

function isAuthentication(given: unknown): boolean {
  // JavaScript callers may give a verifier alone, which would refuse everybody at the first request only.
  return (
    isFunction(given) || (isObject(given) && isFunction((given as Partial<ProtectedResource>).authenticate))
  );
}

/** Whether requests can have such a path. */
function isPath(path: string): boolean {
  const url = `http://localhost${path}`;
  return path.startsWith("/") && URL.canParse(url) && new URL(url).pathname === path;
}

/** Whether it is an origin as browsers send it. */
export function isOrigin(origin: string): boolean {
  if (origin.includes("*")) return false; // no pattern is understood
  // Of schemes that it does not know, such as those of browser extensions, the platform gives no origin.
  if (!/^https?:/i.test(origin)) return /^[a-z][a-z\d+.-]*:\/\/[^\s/?#*,@]+$/.test(origin);
  return URL.canParse(origin) && new URL(origin).origin === origin;
}

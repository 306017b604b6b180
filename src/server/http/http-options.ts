import type { IncomingMessage } from "node:http";
import type { AuthInfo } from "@modelcontextprotocol/server";
import type { Access } from "../request.ts";
import type { OnError } from "../faults.ts";
import type { AdminEndpointOptions } from "./admin/admin-options.ts";
import type { DashboardEndpointOptions } from "./dashboard/dashboard-options.ts";
import type { MetricsEndpointOptions } from "./metrics/metrics-options.ts";

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

/** Which web pages may read the server's answers. */
export interface CorsOptions {
  /**
   * Origins as browsers write them, such as `https://app.example.com`: scheme, host, and a port other than the scheme's default. They also
   * pass the Origin check, whatever `allowedOrigins` says. `any` needs `allowedOrigins: "any"`.
   */
  readonly origins: readonly string[] | "any";
  /** How long browsers may cache a preflight answer, in seconds. Default 600. */
  readonly maxAgeS?: number;
  /** Whether browsers send cookies, for an `authenticate` that reads them. Default false. */
  readonly credentials?: boolean;
}

export interface FetchHandlerOptions {
  /** The full path of the MCP endpoint, wherever the handler is mounted. Default `/mcp`. */
  readonly path?: string;
  /** Your own function, or the result of `oauthResource` from `holdfast/auth`. */
  readonly authenticate?: Authenticate | ProtectedResource;
  /** How to treat callers that no framework authenticated. Default `isolated`. Cannot be combined with `authenticate`. */
  readonly anonymous?: Anonymous;
  /**
   * Accepted `Host` names, without port; others get 403, which protects local servers from DNS rebinding. Default: the
   * names of this machine. `any` turns the check off.
   */
  readonly allowedHosts?: readonly string[] | "any";
  /** Accepted host names in `Origin`; others get 403. Default: the names of this machine. `any` turns the check off. */
  readonly allowedOrigins?: readonly string[] | "any";
  /** Web pages of other origins that may read answers. Default: none. */
  readonly cors?: CorsOptions;
  /** Maximum size of a request body in bytes; larger ones get 413. Default: `maxBodyBytes` of the tasks plus 64 KiB. */
  readonly maxRequestBodySize?: number;
  /** How long a client may take to send a request, in milliseconds; slower ones get 408. Default one minute. */
  readonly requestTimeoutMs?: number;
  /** Total bytes of requests that are being received. Above it, the slowest gets 503. Default 256 MiB. */
  readonly maxPendingBytes?: number;
  /**
   * Total bytes of responses that clients have not read yet. Above it, of the principal that holds most, the connection that has read
   * nothing for longest is closed. One response counts as at most half of the limit. With `createFetchHandler`, the framework holds
   * responses itself; only data waiting on streams counts. Default 256 MiB.
   */
  readonly maxOutgoingBytes?: number;
  /** Maximum number of messages in one batch (protocol 2025-03-26 and before); more get 400. Default 50. */
  readonly maxBatch?: number;
  /**
   * Whether clients of protocol 2025-11-25 and before get a session. Default true. A session has a stream for notifications and questions,
   * and replays what a client missed when a stream broke: the newest 1,000 messages or 4 MiB, whichever is less. All sessions together hold
   * 256 MiB; above that, the principal that holds most loses its oldest messages first. A session survives a restart of its server: the
   * factory makes a new server, which gets the client's handshake, log level and subscriptions, up to 64 KiB. Other state that the old
   * server had in memory for the session is lost. A session belongs to one process at a time, so a load balancer has to route it there.
   * Without sessions each request stands alone, GET and DELETE get 405, and the server cannot ask the client anything.
   */
  readonly sessions?: boolean;
  /** How long a session may have no open request or stream before it ends, in milliseconds. Its tasks continue. Default 30 minutes. */
  readonly sessionIdleMs?: number;
  /**
   * How long a session may stay unused after its handshake before it ends, in milliseconds. Once `maxSessions` are open, a session that was
   * idle for this long makes room for a new one. Default one minute.
   */
  readonly unusedSessionMs?: number;
  /**
   * Maximum number of sessions at the same time. A new one above the limit ends a session of the principal that has most, idle ones first,
   * if that has more than the new session's principal; otherwise one that was idle for `unusedSessionMs`. If there is none, the new session
   * gets 503. Default 10,000.
   */
  readonly maxSessions?: number;
  /** Maximum number of sessions of one principal. One more ends an idle one, or gets 429. Default 1,000. */
  readonly maxSessionsPerPrincipal?: number;
  /**
   * How long a request of a session is held after its connection broke, so that the client can resume its stream, in milliseconds. After
   * that a wait for a task ends; the task continues. Above 10,000 such requests in all sessions, those of the principal with most of them
   * end first. Default one minute.
   */
  readonly resumeMs?: number;
  /** Maximum number of unanswered requests of one session; one more gets 429. Default 500. */
  readonly maxOpenRequestsPerSession?: number;
  /**
   * Maximum number of open requests of one principal, with and without sessions; one more gets 429. As many requests again may be held for
   * `resumeMs`, where the oldest make room, and as many streams may be open. Default 1,000.
   */
  readonly maxOpenRequestsPerPrincipal?: number;
}

export interface NodeHandlerOptions extends FetchHandlerOptions {
  /** How long a client may leave waiting data unread before its connection is closed, in milliseconds. Default one minute. */
  readonly stallTimeoutMs?: number;
  /** Maximum number of headers of one request; more get 431. Default 100. */
  readonly maxHeaders?: number;
}

export interface HttpOptions extends NodeHandlerOptions {
  /** The port. 0 takes a free one. Default 3000. */
  readonly port?: number;
  /**
   * The address to listen on. Default `127.0.0.1`: this machine only. Any other needs `authenticate`, or an explicit `anonymous`;
   * `allowedHosts` then defaults to `any`.
   */
  readonly host?: string;
  /** How long a client may take to send the headers of a request, in milliseconds; default 15 seconds. */
  readonly headersTimeoutMs?: number;
  /** How long a connection stays open between two requests, in milliseconds; default 5 seconds. */
  readonly keepAliveTimeoutMs?: number;
  /** Maximum number of connections at the same time; one more is closed at once. Default 10,000. */
  readonly maxConnections?: number;
  /** Maximum total bytes of the headers of one request; more get 431. Default 16 KiB. */
  readonly maxHeaderBytes?: number;
  /** An endpoint for operators on the same host and port. Default: none. */
  readonly admin?: AdminEndpointOptions;
  /** An endpoint for systems that collect metrics, such as Prometheus, on the same host and port. Default: none. */
  readonly metrics?: MetricsEndpointOptions;
  /** A dashboard for operators, on the same host and port. Default: none. */
  readonly dashboard?: DashboardEndpointOptions;
}

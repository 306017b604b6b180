import type { IncomingMessage } from "node:http";
import type { AuthInfo } from "@modelcontextprotocol/server";
import type { Access } from "../request.ts";
import type { OnError } from "../faults.ts";
import type { AdminEndpointOptions } from "./admin/admin-options.ts";
import type { DashboardEndpointOptions } from "./dashboard/dashboard-options.ts";
import type { MetricsEndpointOptions } from "./metrics/metrics-options.ts";

/** Who sent a request: the owner of its tasks, and what the SDK passes to the author's own tools. */
export interface Identity {
  /** A stable name of the user or client, not empty. Tasks of one principal are hidden from all others. */
  readonly principal: string;
  readonly authInfo?: AuthInfo;
  /**
   * What handlers learn of the sender as `task.caller.claims`: a user's tenant, for one. It is kept with each task, so put no
   * token into it. Plain JSON data.
   */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** What handlers get by `task.credentials()`, such as a token of another service. In memory only. */
  readonly credentials?: unknown;
  /** What the sender's token allows. Left out: everything that its principal may do. */
  readonly access?: Access;
}

/** What is known of a request besides: each is left out where there is none. */
export interface AuthenticationContext {
  /** What a framework's authentication left: `req.auth`, or the `authInfo` that the handler was given. */
  readonly authInfo?: AuthInfo;
  /** The request as Node has it, with what middleware added to it, such as `req.user`. */
  readonly incoming?: IncomingMessage;
}

/**
 * Identifies the sender of a request: returns an identity, or just the principal's name; `undefined` refuses the request
 * with 401. Use the request's headers only: its body is read later.
 */
export type Authenticate = (
  request: Request,
  context: AuthenticationContext,
) => Promise<Identity | string | undefined>;

/** What a framework did with a request before it handed it on. */
export interface RequestContext {
  /** The body, if it was read already: the parsed JSON, or its bytes. It is held to the same limits. */
  readonly parsedBody?: unknown;
  /**
   * Who sent it, as the SDK describes callers. Without the option `authenticate`, its principal is the subject (`extra.sub`, with
   * the issuer `extra.iss`); one without a subject is refused.
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
 * How callers are treated whom nobody authenticated. `isolated`: they are not told apart, and whoever has a task's id has the
 * task. `shared`: all are one principal. `refused`: they get 401, so that only those pass whom a framework authenticated.
 */
export type Anonymous = "isolated" | "shared" | "refused";

/** Which web pages may read what the server answers. */
export interface CorsOptions {
  /**
   * Origins as browsers write them, such as `https://app.example.com`: scheme, host, and a port that is not the
   * scheme's own. They pass the Origin check too, whatever `allowedOrigins` says. `any` needs `allowedOrigins: "any"`.
   */
  readonly origins: readonly string[] | "any";
  /** How long browsers may cache a preflight answer, in seconds. Default 600. */
  readonly maxAgeS?: number;
  /** Whether browsers send cookies, for an `authenticate` that reads them. Default false. */
  readonly credentials?: boolean;
}

export interface FetchHandlerOptions {
  /** The whole path of the MCP endpoint, wherever the handler is mounted. Default `/mcp`. */
  readonly path?: string;
  /** A function of your own, or what `oauthResource` of `holdfast/auth` gives. */
  readonly authenticate?: Authenticate | ProtectedResource;
  /** Of callers that no framework authenticated. Default `isolated`; cannot be combined with `authenticate`. */
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
  /** The largest request body in bytes; larger ones get 413. Default: `maxBodyBytes` of the tasks plus 64 KiB. */
  readonly maxRequestBodySize?: number;
  /** How long a client may take to send a request, in milliseconds; slower ones get 408. Default one minute. */
  readonly requestTimeoutMs?: number;
  /**
   * Total bytes of requests that are still being received. Beyond it the slowest gets 503. Default 256 MiB.
   */
  readonly maxPendingBytes?: number;
  /**
   * Total bytes of responses that were made and that clients have not taken yet. Beyond it the principal with most of them
   * gives way: the one of its connections that has taken nothing for longest is closed. One response counts as half of it
   * at most. A framework that calls `createFetchHandler` holds responses itself; only what waits on streams counts there.
   * Default 256 MiB.
   */
  readonly maxOutgoingBytes?: number;
  /** Messages in one batch (protocol 2025-03-26 and before); more get 400. Default 50. */
  readonly maxBatch?: number;
  /**
   * Whether clients of protocol 2025-11-25 and before get a session. Default true. A session has a stream for notifications
   * and questions, and replays what a client missed when a stream broke: the newest 1,000 messages or 4 MiB, whichever is
   * less, and 256 MiB in all sessions together, where the principal with most of it gives up its oldest first. A session goes
   * on after a restart of its server: a fresh server of the factory's gets the client's handshake, log level and subscriptions,
   * up to 64 KiB, while anything else that the old one had in memory for the session is lost. One process has a session at a
   * time, so a load balancer has to route it there. Without sessions each request stands alone, GET and DELETE get 405, and
   * the client cannot be asked anything.
   */
  readonly sessions?: boolean;
  /**
   * How long a session may have no open request or stream before it ends, in milliseconds. Its tasks live on. Default 30
   * minutes.
   */
  readonly sessionIdleMs?: number;
  /**
   * How long a session may stay unused after its handshake before it ends, in milliseconds. With `maxSessions` open, a
   * session that was idle for this long makes room for a new one. Default one minute.
   */
  readonly unusedSessionMs?: number;
  /**
   * Sessions at the same time. One more ends a session of the principal that has most, idle ones first, if that has more
   * than the new one's principal; otherwise one that was idle for `unusedSessionMs`. If there is none, it gets 503. Default
   * 10,000.
   */
  readonly maxSessions?: number;
  /** Sessions of one principal. One more ends an idle one, or gets 429. Default 1,000. */
  readonly maxSessionsPerPrincipal?: number;
  /**
   * How long a request of a session is held after its connection broke, so that the client can resume its stream, in
   * milliseconds. After that a wait for a task ends; the task goes on. Beyond 10,000 such requests in all sessions, those
   * of the principal with most of them end first. Default one minute.
   */
  readonly resumeMs?: number;
  /** Unanswered requests of one session; one more gets 429. Default 500. */
  readonly maxOpenRequestsPerSession?: number;
  /**
   * Open requests of one principal, with and without sessions; one more gets 429. The same number of requests may be held
   * for `resumeMs`, where the oldest make room, and the same number of streams may be open besides. Default 1,000.
   */
  readonly maxOpenRequestsPerPrincipal?: number;
}

export interface NodeHandlerOptions extends FetchHandlerOptions {
  /** How long a client may read nothing of what waits for it before its connection is closed, in milliseconds. Default one minute. */
  readonly stallTimeoutMs?: number;
  /** The number of headers of one request; more get 431. Default 100. */
  readonly maxHeaders?: number;
}

export interface HttpOptions extends NodeHandlerOptions {
  /** The port. 0 takes a free one. Default 3000. */
  readonly port?: number;
  /**
   * The address to listen on. Default `127.0.0.1`: this machine only. Any other needs `authenticate`, or an explicit
   * `anonymous`; `allowedHosts` is then `any` by default.
   */
  readonly host?: string;
  /** How long a client may take to send the headers of a request, in milliseconds; default 15 seconds. */
  readonly headersTimeoutMs?: number;
  /** How long a connection stays open between two requests, in milliseconds; default 5 seconds. */
  readonly keepAliveTimeoutMs?: number;
  /** Connections at the same time; one more is closed at once. Default 10,000. */
  readonly maxConnections?: number;
  /** Total bytes of the headers of one request; more get 431. Default 16 KiB. */
  readonly maxHeaderBytes?: number;
  /** An endpoint for operators beside the one for clients, under the same names. Default: none. */
  readonly admin?: AdminEndpointOptions;
  /** An endpoint for who collects metrics, such as Prometheus, likewise. Default: none. */
  readonly metrics?: MetricsEndpointOptions;
  /** A page for operators, likewise. Default: none. */
  readonly dashboard?: DashboardEndpointOptions;
}

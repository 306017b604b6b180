import type { AuthInfo } from "@modelcontextprotocol/server";
import type { Access } from "../access.ts";
import type { OnError } from "../answer.ts";

/** Who sent a request: what tasks belong to, and what the SDK hands to the author's own tools. */
export interface Identity {
  /** A stable name of the user or client, not empty. Tasks of one principal are hidden from all others. */
  readonly principal: string;
  readonly authInfo?: AuthInfo;
  /** What its token lets the sender do; left out: everything that its principal may. */
  readonly access?: Access;
}

/**
 * Tells who sent a request, as an identity or by the principal's name alone; undefined refuses it with 401. It gets
 * the request's headers; the body is not its to read.
 */
export type Authenticate = (request: Request) => Promise<Identity | string | undefined>;

/** What `oauthResource` of `holdfast/auth` gives: more than who sent a request. */
export interface ProtectedResource {
  /** The answer to a request for a document that is for everybody; undefined for all other requests. */
  document(request: Request): Response | undefined;
  /** Who sent a request, or the refusal of it. What the caller must not see goes to `onError`. */
  authenticate(request: Request, onError: OnError): Promise<Identity | Response>;
  /** The scopes that a parsed body, one message or several, needs. */
  needed(
    body: unknown,
    /** Whether a tool stands for a method about tasks, for clients that have none. */
    isCompanion?: (tool: string) => boolean,
  ): Iterable<string>;
  /** The refusal of a request that needs these scopes; undefined where its sender's token has them all. */
  refusal(sender: Pick<Identity, "authInfo">, needed: Iterable<string>): Response | undefined;
}

/**
 * How callers are told apart where nobody authenticates them. `isolated`: not at all, and whoever has a
 * task's id has the task. `shared`: all are one principal.
 */
export type Anonymous = "isolated" | "shared";

/** Which web pages may read what the server answers. */
export interface CorsOptions {
  /**
   * Origins as browsers write them, such as `https://app.example.com`: scheme, host, and a port that is not the
   * scheme's own. They pass the Origin check too, whatever `allowedOrigins` says. `any` needs `allowedOrigins: "any"`.
   */
  readonly origins: readonly string[] | "any";
  /** How long a browser may keep that it may ask, in seconds; default 600. */
  readonly maxAgeS?: number;
  /** Whether browsers send cookies along, for an `authenticate` that reads them; default false. */
  readonly credentials?: boolean;
}

export interface FetchHandlerOptions {
  /** Where the protocol is served; default `/mcp`. */
  readonly path?: string;
  /** A function of your own, or what `oauthResource` of `holdfast/auth` gives. */
  readonly authenticate?: Authenticate | ProtectedResource;
  /** Default `isolated`; cannot be combined with `authenticate`. */
  readonly anonymous?: Anonymous;
  /**
   * Host names, without port, that requests may be addressed to; others get 403, so that a web page cannot reach a
   * local server under a name of its own. Default: the names of this machine. `any` leaves the check out.
   */
  readonly allowedHosts?: readonly string[] | "any";
  /** Host names of web pages that may send requests; others get 403. Default: the names of this machine. */
  readonly allowedOrigins?: readonly string[] | "any";
  /** Web pages that may read answers. Left out, none: browsers keep answers from pages of other origins. */
  readonly cors?: CorsOptions;
  /** Largest request in bytes; larger ones get 413. Default: `maxBodyBytes` of the tasks and 64 KiB. */
  readonly maxRequestBodySize?: number;
  /** How long a client may take to send a request, in milliseconds; slower ones get 408. Default one minute. */
  readonly requestTimeoutMs?: number;
  /**
   * Bytes of requests that are still being received, all together; default 256 MiB. With more of them, the one that has
   * taken longest gets 503.
   */
  readonly maxPendingBytes?: number;
  /** Messages in one request of a client of 2025-03-26 or before, which may send several; more get 400. Default 50. */
  readonly maxBatch?: number;
  /**
   * Whether clients of 2025-11-25 and before get a session; default true. A session has a stream for what the
   * server has to say, its tools can ask the client, and a client whose stream broke gets what it missed of the
   * newest 1,000 messages or 4 MiB, whichever is less; 256 MiB in all sessions together, beyond which the principal with
   * most of them has the least. It lives in this process,
   * so behind a load balancer its requests have to come to the same one. Without sessions each request is served
   * by itself, GET and DELETE get 405, and nothing can be asked of the client.
   */
  readonly sessions?: boolean;
  /**
   * A session ends when no request and no stream of it was open for so many milliseconds, and with it what its client
   * left behind; tasks live on. Default 30 minutes.
   */
  readonly sessionIdleMs?: number;
  /**
   * A session whose client sends nothing after its handshake ends after so many milliseconds; and one that was idle for
   * so long has to make room for another where `maxSessions` are open. Default one minute.
   */
  readonly unusedSessionMs?: number;
  /**
   * Sessions at a time; default 10,000. One more takes the place of another: of the principal with most sessions, where that
   * has more than the new one's, the idle ones first; else of one that was idle for `unusedSessionMs`. Without any it is refused with 503.
   */
  readonly maxSessions?: number;
  /** Of these, of one principal; one more takes the place of an idle one, or is refused with 429. Default 1,000. */
  readonly maxSessionsPerPrincipal?: number;
  /**
   * How long a request of a session is held for its client whose connection broke, and that may come back for the answer,
   * in milliseconds; default one minute. Then a wait for a task ends, and its task goes on. With 10,000 such requests in
   * all sessions, those of the principal with most of them end sooner.
   */
  readonly resumeMs?: number;
  /** Requests of one session that wait for their answers; one more gets 429. Default 500. */
  readonly maxOpenRequestsPerSession?: number;
  /**
   * Requests that one principal has open, in all sessions and without one; one more gets 429. Default 1,000. As many more may be
   * held for `resumeMs`, of which the oldest make room, and as many streams may be open in addition to those of its sessions.
   */
  readonly maxOpenRequestsPerPrincipal?: number;
}

export interface HttpOptions extends FetchHandlerOptions {
  /** Default 3000; 0 takes any free one. */
  readonly port?: number;
  /**
   * The address to listen on; default `127.0.0.1`, this machine alone. Any other has to come with `authenticate`, or
   * with `anonymous` written out. There the default of `allowedHosts` is `any`.
   */
  readonly host?: string;
  /** How long a client may take to send the headers of a request, in milliseconds; default 15 seconds. */
  readonly headersTimeoutMs?: number;
  /** How long a connection stays open between two requests, in milliseconds; default 5 seconds. */
  readonly keepAliveTimeoutMs?: number;
  /** A client that reads nothing of what waits for it loses its connection after so many milliseconds; default one minute. */
  readonly stallTimeoutMs?: number;
  /** Connections at the same time; one more is closed at once. Default 10,000. */
  readonly maxConnections?: number;
  /** Of one request, all headers together; more get 431. Default 16 KiB. */
  readonly maxHeaderBytes?: number;
  /** Of one request; more get 431. Default 100. */
  readonly maxHeaders?: number;
}

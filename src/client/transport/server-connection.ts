import { type Transport, StreamableHTTPClientTransport, type FetchLike } from "@modelcontextprotocol/client";
import type { TransportKind, TracedPeer } from "../client-events.ts";
import type { ClientClock } from "../clock.ts";
import type { ConnectOptions } from "../connect-options.ts";
import { AnswerBounds } from "./server-sent-events.ts";
import { ResponseRecords, recordingFetch } from "./recording-fetch.ts";
import { type ServerProcess, ProcessTransport } from "./process-transport.ts";
import { hasCredentials, httpPeer, httpUrl, processName, redacted, targets, urlName } from "./server-name.ts";
import { bearer, fetchWithAuth } from "../auth/fetch-with-auth.ts";
import { TaskClientError } from "../task-client-error.ts";
import { SseTransport, StandaloneStream } from "./sse-transport.ts";
import { fetchWithoutTimeout } from "./node-fetch.ts";

/** What `connect` connects to: a URL, a process to start, or a transport of the SDK that is not started yet. */
export type ServerTarget = string | URL | ServerProcess | Transport;

/** A connection to a server that is not open yet. */
export interface ServerConnection {
  /** The server's name in task references. */
  readonly name: string;
  /** The server's name for people. */
  readonly shownAs: string;
  readonly transport: Transport;
  /** Undefined for a transport that you passed in. */
  readonly kind: TransportKind | undefined;
  readonly peer: TracedPeer;
  /** Undefined on transports other than Streamable HTTP. */
  readonly origin?: string;
  /** The HTTP response of each request; undefined on other transports. */
  readonly responses?: ResponseRecords;
  /** Ends the session on the server; gives up after a second. */
  readonly endSession?: () => Promise<void>;
  /** Sets the listener for the loss of the standalone stream: the server ended it and refuses a new one. */
  readonly onStreamLost?: (listener: () => void) => void;
  /** Undefined for a transport that you passed in. */
  readonly bounds?: AnswerBounds;
  /** How the server's process ended by itself; undefined while it runs, and for other servers. */
  readonly ending?: () => string | undefined;
}

export interface ConnectionOptions extends HttpOptions, Naming {
  readonly maxAnswerBytes: number;
  /** The transport for a URL; default Streamable HTTP. */
  readonly isHttpSse?: boolean;
}

export function connectionTo(
  target: ServerTarget,
  options: ConnectionOptions,
  clock: ClientClock,
): ServerConnection {
  const { serverName, maxAnswerBytes } = options;
  const bounds = new AnswerBounds(maxAnswerBytes);
  if (typeof target === "string" || target instanceof URL) {
    const url = httpUrl(target);
    if (hasCredentials(url)) {
      // References name the server by its URL, and are stored and logged.
      throw new TypeError(
        "The server's URL contains a user name or password: pass them in `headers`, or a `token`",
      );
    }
    const { origin } = url;
    const name = httpName(url, options);
    const http = { name, shownAs: name, peer: httpPeer(url), bounds };
    if (options.isHttpSse === true)
      return { ...http, kind: "http+sse", ...sseConnection(url, options, clock, bounds) };
    return { ...http, kind: "http", origin, ...httpConnection(url, options, clock, bounds) };
  }
  if (typeof target !== "object" || target === null)
    throw new TypeError(`connect takes ${targets}, not ${typeof target}.`);
  if ("command" in target) {
    const transport = new ProcessTransport(target, clock, bounds);
    const words = [target.command, ...(target.args ?? [])];
    const name = serverName ?? processName(words);
    const shownAs = serverName ?? words.map((word) => redacted(word)).join(" ");
    const peer = { transport: "stdio" } as const;
    return { name, shownAs, kind: "stdio", peer, transport, bounds, ending: () => transport.ending };
  }
  const name = serverName ?? "transport";
  return { name, shownAs: name, kind: undefined, peer: {}, transport: target };
}

/** What decides how task references name a server over HTTP. */
type Naming = Pick<ConnectOptions, "serverName" | "publicParameters">;

function httpName(url: URL, { serverName, publicParameters = [] }: Naming): string {
  return serverName ?? urlName(url, (parameter) => publicParameters.includes(parameter));
}

/** The name and address of a server over HTTP in references; undefined for others. */
export function httpAddress(
  target: ServerTarget,
  naming: Naming,
): { readonly server: string; readonly origin: string } | undefined {
  if (typeof target !== "string" && !(target instanceof URL)) return undefined;
  const url = httpUrl(target);
  return { server: httpName(url, naming), origin: url.origin };
}

type Token = NonNullable<ConnectOptions["token"]>;

/** How often the SDK tries to resume a broken stream of a request: for about ten seconds. */
const maxResumptions = 5;

/** How long the DELETE that ends the session may take. */
const endSessionTimeoutMs = 1_000;

export interface HttpOptions extends Pick<
  ConnectOptions,
  "addresses" | "auth" | "fetch" | "headers" | "token"
> {
  /** Wraps what sends requests to the server; the requests have their tokens by then. */
  readonly wrapFetch?: (fetchIt: FetchLike) => FetchLike;
}

/** A connection by the SDK's HTTP transport, which also records responses and keeps the standalone stream open. */
export function httpConnection(
  url: URL,
  options: HttpOptions,
  clock: ClientClock,
  bounds: AnswerBounds,
): {
  readonly transport: StreamableHTTPClientTransport;
  readonly responses: ResponseRecords;
  readonly endSession: () => Promise<void>;
  readonly onStreamLost: (listener: () => void) => void;
} {
  const { headers, token } = options;
  const responses = new ResponseRecords();
  const fetchIt = fetchFor(url, options, clock);
  let streamLost = (): void => undefined;
  // Nobody waits for a stream that belongs to no request of ours, so only the end of the connection can tell why it was cut off.
  const endBy = (failure: TaskClientError): void => {
    bounds.failure ??= failure;
    void transport.close();
  };
  const standalone = new StandaloneStream({
    fetch: fetchIt,
    bounded: (response) => bounds.bounded(response, { byEvent: true, onExceeded: endBy }),
    clock,
    onMessage: (message) => transport.onmessage?.(message),
    onError: (error) => transport.onerror?.(error),
    onLost: () => streamLost(),
    authorization: async () => {
      const read = token === undefined ? undefined : await readToken(token);
      return read === undefined ? undefined : bearer(read);
    },
  });
  const transport: StreamableHTTPClientTransport = new StreamableHTTPClientTransport(url, {
    reconnectionOptions: {
      initialReconnectionDelay: 500,
      maxReconnectionDelay: 4_000,
      reconnectionDelayGrowFactor: 2,
      get maxRetries() {
        // Streams cannot be resumed since 2026-07-28: this client repeats the request instead.
        const { protocolVersion } = transport;
        return protocolVersion === undefined || protocolVersion >= "2026" ? 0 : maxResumptions;
      },
    },
    fetch: recordingFetch(standalone.intercepting(fetchIt), responses, bounds, endBy),
    ...(headers !== undefined && { requestInit: { headers: { ...headers } } }),
    ...(token !== undefined && { authProvider: { token: async () => readToken(token) } }),
  });
  const endSession = async (): Promise<void> => {
    if (transport.sessionId === undefined) return;
    const deadline = clock.deadline(endSessionTimeoutMs);
    const late = new Promise<void>((resolve) => {
      deadline.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    // A server that cannot be reached has lost the session or lets it expire.
    await Promise.race([transport.terminateSession().catch(() => undefined), late]);
    deadline.clear();
  };
  return { transport, responses, endSession, onStreamLost: (listener) => (streamLost = listener) };
}

/** A connection by the HTTP+SSE transport of 2024-11-05. */
export function sseConnection(
  url: URL,
  options: HttpOptions,
  clock: ClientClock,
  bounds: AnswerBounds,
): { readonly transport: SseTransport } {
  const headers = async (): Promise<Headers> => {
    const { headers: given = {}, token } = options;
    const sent = new Headers({ ...given });
    const read = token === undefined ? undefined : await readToken(token);
    if (read !== undefined) sent.set("authorization", `Bearer ${read}`);
    return sent;
  };
  return {
    transport: new SseTransport({ url, fetch: fetchFor(url, options, clock), clock, headers, bounds }),
  };
}

/** Sends the requests to the server, with the tokens of `auth`. */
function fetchFor(server: URL, options: HttpOptions, clock: ClientClock): FetchLike {
  const { fetch: given, wrapFetch = (fetchIt) => fetchIt, auth, token } = options;
  const fetchIt = wrapFetch(given ?? fetchWithoutTimeout);
  return auth === undefined
    ? typeof token === "function"
      ? withNewerToken(fetchIt, server, token)
      : fetchIt
    : fetchWithAuth({ auth, server, fetch: fetchIt, requests: options, clock });
}

/** A request whose token the program has replaced by the time that the server refuses it is sent again, once, with the new one. */
function withNewerToken(fetchIt: FetchLike, server: URL, token: Token): FetchLike {
  return async (url, init = {}) => {
    const response = await fetchIt(url, init);
    const headers = new Headers(init.headers);
    const sent = headers.get("authorization");
    if (response.status !== 401 || sent === null || new URL(url).origin !== server.origin) return response;
    const read = await readToken(token);
    if (read === undefined || bearer(read) === sent) return response;
    await response.body?.cancel();
    headers.set("authorization", bearer(read));
    return fetchIt(url, { ...init, headers });
  };
}

async function readToken(token: Token): Promise<string | undefined> {
  const read = typeof token === "string" ? token : await readFrom(token);
  if (read !== undefined) bearer(read); // throws here, because the SDK's error would contain the token
  return read;
}

async function readFrom(token: Exclude<Token, string>): Promise<string | undefined> {
  try {
    return await token();
  } catch (cause) {
    throw new TaskClientError("unauthorized", "The token option threw an error", { cause });
  }
}

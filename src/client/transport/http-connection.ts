import { StreamableHTTPClientTransport, type FetchLike } from "@modelcontextprotocol/client";
import type { ClientClock } from "../clock.ts";
import { bearer } from "../auth/authorized-fetch.ts";
import { fetchWithAuth } from "../auth/fetch-with-auth.ts";
import type { ConnectOptions } from "../connect-options.ts";
import { TaskClientError } from "../task-client-error.ts";
import { recordingFetch, ResponseRecords } from "./recording-fetch.ts";
import { fetchWithoutTimeout } from "./fetch-without-timeout.ts";
import { SseTransport } from "./sse-transport.ts";
import { StandaloneStream } from "./standalone-stream.ts";

type Token = NonNullable<ConnectOptions["token"]>;

/** How often the SDK tries to resume a broken stream of a request: for about ten seconds. */
const maxResumptions = 5;
/** How long the DELETE that ends the session may take. */
const endSessionTimeoutMs = 1_000;

export interface HttpOptions extends Pick<ConnectOptions, "auth" | "fetch" | "headers" | "token"> {
  /** Wraps what sends requests to the server; the requests have their tokens by then. */
  readonly wrapFetch?: (fetchIt: FetchLike) => FetchLike;
}

/** A connection by the SDK's HTTP transport, which also records responses and keeps the standalone stream open. */
export function httpConnection(
  url: URL,
  options: HttpOptions,
  clock: ClientClock,
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
  const standalone = new StandaloneStream({
    fetch: fetchIt,
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
    fetch: recordingFetch(standalone.intercepting(fetchIt), responses),
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
): { readonly transport: SseTransport } {
  const headers = async (): Promise<Headers> => {
    const { headers: given = {}, token } = options;
    const sent = new Headers({ ...given });
    const read = token === undefined ? undefined : await readToken(token);
    if (read !== undefined) sent.set("authorization", `Bearer ${read}`);
    return sent;
  };
  return { transport: new SseTransport({ url, fetch: fetchFor(url, options, clock), clock, headers }) };
}

/** Sends the requests to the server, with the tokens of `auth`. */
function fetchFor(server: URL, options: HttpOptions, clock: ClientClock): FetchLike {
  const { fetch: given, wrapFetch = (fetchIt) => fetchIt, auth } = options;
  const fetchIt = wrapFetch(given ?? fetchWithoutTimeout);
  return auth === undefined ? fetchIt : fetchWithAuth({ auth, server, fetch: fetchIt, given, clock });
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

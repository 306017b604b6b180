import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { ClientClock } from "../clock.ts";
import type { ConnectOptions } from "../connect-options.ts";
import { TaskClientError } from "../task-client-error.ts";
import { notedFetch, ResponseNotes } from "./noted-fetch.ts";
import { patientFetch } from "./patient-fetch.ts";
import { StandaloneStream } from "./standalone-stream.ts";

type Token = NonNullable<ConnectOptions["token"]>;

/** How often a broken stream of a request is taken up again, where that can be: for about ten seconds. */
const resumptions = 5;
/** What telling the server that the session is over may take. */
const farewellMs = 1_000;

/** The SDK's transport over HTTP, with notes of what it does not pass on, and its standalone stream kept open. */
export function httpLine(
  url: URL,
  { fetch: given, headers, token }: Pick<ConnectOptions, "fetch" | "headers" | "token">,
  clock: ClientClock,
): {
  readonly transport: StreamableHTTPClientTransport;
  readonly notes: ResponseNotes;
  readonly endSession: () => Promise<void>;
  readonly onStreamLost: (listener: () => void) => void;
} {
  const notes = new ResponseNotes();
  const fetchIt = given ?? patientFetch;
  let streamLost = (): void => undefined;
  const standalone = new StandaloneStream({
    fetch: fetchIt,
    clock,
    onMessage: (message) => transport.onmessage?.(message),
    onError: (error) => transport.onerror?.(error),
    onLost: () => streamLost(),
    authorization: async () => {
      const read = token === undefined ? undefined : await readToken(token);
      return read === undefined ? undefined : `Bearer ${read}`;
    },
  });
  const transport: StreamableHTTPClientTransport = new StreamableHTTPClientTransport(url, {
    reconnectionOptions: {
      initialReconnectionDelay: 500,
      maxReconnectionDelay: 4_000,
      reconnectionDelayGrowFactor: 2,
      get maxRetries() {
        // Since 2026-07-28 there are no streams to resume; a broken one is ours to repeat.
        const { protocolVersion } = transport;
        return protocolVersion === undefined || protocolVersion >= "2026" ? 0 : resumptions;
      },
    },
    fetch: notedFetch(standalone.takingOver(fetchIt), notes),
    ...(headers !== undefined && { requestInit: { headers: { ...headers } } }),
    ...(token !== undefined && { authProvider: { token: async () => readToken(token) } }),
  });
  const endSession = async (): Promise<void> => {
    if (transport.sessionId === undefined) return;
    const deadline = clock.deadline(farewellMs);
    const late = new Promise<void>((resolve) => {
      deadline.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    // A server that is away has no session any more, or forgets it by itself.
    await Promise.race([transport.terminateSession().catch(() => undefined), late]);
    deadline.clear();
  };
  return { transport, notes, endSession, onStreamLost: (listener) => (streamLost = listener) };
}

async function readToken(token: Token): Promise<string | undefined> {
  if (typeof token === "string") return token;
  try {
    return await token();
  } catch (cause) {
    throw new TaskClientError("unauthorized", "The token option threw", { cause });
  }
}

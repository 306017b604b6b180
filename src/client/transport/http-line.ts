import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { ConnectOptions } from "../connect-options.ts";
import { TaskClientError } from "../task-client-error.ts";
import { notedFetch, type ResponseNotes } from "./noted-fetch.ts";

type Token = NonNullable<ConnectOptions["token"]>;

/** The SDK's transport over HTTP, with notes of what it does not pass on. */
export function httpLine(
  url: URL,
  { fetch: fetchIt, headers, token }: Pick<ConnectOptions, "fetch" | "headers" | "token">,
): { readonly transport: StreamableHTTPClientTransport; readonly notes: ResponseNotes } {
  const notes: ResponseNotes = new Map();
  const transport = new StreamableHTTPClientTransport(url, {
    // This protocol has no streams to resume; a broken one is ours to repeat.
    reconnectionOptions: {
      initialReconnectionDelay: 0,
      maxReconnectionDelay: 0,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 0,
    },
    fetch: notedFetch(fetchIt ?? (async (target, init) => fetch(target, init)), notes),
    ...(headers !== undefined && { requestInit: { headers: { ...headers } } }),
    ...(token !== undefined && { authProvider: { token: async () => readToken(token) } }),
  });
  return { transport, notes };
}

async function readToken(token: Token): Promise<string | undefined> {
  if (typeof token === "string") return token;
  try {
    return await token();
  } catch (cause) {
    throw new TaskClientError("unauthorized", "The token option threw", { cause });
  }
}

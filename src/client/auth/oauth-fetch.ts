import type { FetchLike } from "@modelcontextprotocol/client";
import type { ClientClock } from "../clock.ts";
import { TaskClientError } from "../task-client-error.ts";
import { chunksOf } from "../transport/streams.ts";

/** How long an authorization server may take to answer. */
const answerMs = 30_000;

const answerBytes = 4 * 2 ** 20;

/** How the requests of log-ins are sent. */
export interface OAuthRequests {
  /** Default: the global `fetch`. */
  readonly fetch?: FetchLike | undefined;
  /** With `public` they reach only the public internet, and do not go through `fetch`. */
  readonly addresses?: "any" | "public" | undefined;
}

/** A fetch with limits of time and size, for requests to authorization servers. The SDK follows their redirects itself, within one origin. */
export function oauthFetch(
  { fetch: given, addresses }: OAuthRequests,
  clock: ClientClock,
  signal?: AbortSignal,
): FetchLike {
  const fetchIt: FetchLike = addresses === "public" ? fetchPublic : (given ?? fetch);
  return async (url, init = {}) => {
    const deadline = clock.deadline(answerMs);
    const signals = [deadline.signal, signal, init.signal].filter((each) => each != null);
    try {
      const response = await fetchIt(url, { ...init, signal: AbortSignal.any(signals) });
      // The answers are small. Reading them here applies the limits to them too.
      const body = response.body === null ? null : await wholeBody(response.body, new URL(url).origin);
      const { status, statusText, headers } = response;
      return new Response(body, { status, statusText, headers });
    } finally {
      deadline.clear();
    }
  };
}

/** Loaded when it is needed. */
const fetchPublic: FetchLike = async (url, init) =>
  (await import("./public-fetch.ts")).publicFetch(url, init);

async function wholeBody(body: ReadableStream<Uint8Array<ArrayBuffer>>, server: string): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const part of chunksOf(body)) {
    size += part.length;
    if (size > answerBytes)
      throw new TaskClientError("protocol", `${server} sent more than 4 MiB in one answer`);
    parts.push(part);
  }
  return new Blob(parts);
}

import type { FetchLike } from "@modelcontextprotocol/client";
import type { ClientClock } from "../clock.ts";

/** How long an authorization server may take to answer. */
const answerMs = 30_000;

/** A fetch with a time limit, for requests to authorization servers. The SDK follows their redirects itself, within one origin. */
export function oauthFetch(
  given: FetchLike | undefined,
  clock: ClientClock,
  signal?: AbortSignal,
): FetchLike {
  const fetchIt: FetchLike = given ?? fetch;
  return async (url, init = {}) => {
    const deadline = clock.deadline(answerMs);
    const signals = [deadline.signal, signal, init.signal].filter((each) => each != null);
    try {
      const response = await fetchIt(url, { ...init, signal: AbortSignal.any(signals) });
      // The answers are small. Reading them here applies the time limit to them too.
      const body = response.body === null ? null : await response.arrayBuffer();
      const { status, statusText, headers } = response;
      return new Response(body, { status, statusText, headers });
    } finally {
      deadline.clear();
    }
  };
}

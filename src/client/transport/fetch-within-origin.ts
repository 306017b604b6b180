import type { FetchLike } from "@modelcontextprotocol/client";

const mostRedirects = 5;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Follows redirects of a GET within its origin, as the SDK's transport does for its own requests: some frameworks redirect
 * `/mcp` to `/mcp/`. A redirect that leads elsewhere is the response, since the headers may hold a token.
 */
export async function fetchWithinOrigin(
  fetchIt: FetchLike,
  url: string | URL,
  init: Pick<RequestInit, "headers" | "signal">,
): Promise<Response> {
  let target = new URL(url);
  for (let followed = 0; ; followed++) {
    const response = await fetchIt(target, { ...init, method: "GET", redirect: "manual" });
    const next = redirectTarget(response, target);
    if (next?.origin !== target.origin || followed === mostRedirects) return response;
    await response.body?.cancel();
    target = next;
  }
}

function redirectTarget({ status, headers }: Response, from: URL): URL | undefined {
  const location = headers.get("location");
  if (location === null || !redirects.has(status) || !URL.canParse(location, from.href)) return undefined;
  return new URL(location, from);
}

import type { Cors } from "./cors.ts";

/** An answer with what keeps it with the one it is for. */
export function withAnswerHeaders(answer: Response, request: Request, cors: Cors | undefined): Response {
  // Headers of some responses, which an author may have given, cannot be changed.
  const response = new Response(answer.body, answer);
  const { headers } = response;
  headers.set("X-Content-Type-Options", "nosniff");
  const caching = headers.get("cache-control");
  // What is for everybody says how long it may be kept; the rest is one caller's own.
  if (caching?.includes("max-age") !== true) {
    headers.set("Cache-Control", caching === null ? "no-store" : `no-store, ${caching}`);
  }
  cors?.addTo(headers, request);
  return response;
}

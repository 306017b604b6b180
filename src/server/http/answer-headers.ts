import type { Cors } from "./cors.ts";

/** Adds headers that keep an answer private to its recipient; `origin` is the header of its request. */
export function withAnswerHeaders(answer: Response, origin: string | null, cors: Cors | undefined): Response {
  // Headers of some responses, which an author may have given, cannot be changed.
  const response = new Response(answer.body, answer);
  const { headers } = response;
  headers.set("X-Content-Type-Options", "nosniff");
  const caching = headers.get("cache-control");
  // What is for everybody says how long it may be kept; the rest is one caller's own.
  if (caching?.includes("max-age") !== true) {
    headers.set("Cache-Control", caching === null ? "no-store" : `no-store, ${caching}`);
  }
  cors?.addTo(headers, origin);
  return response;
}

/** The headers of a JSON answer to a request without an `Origin`. */
export function jsonHeaders(cors: Cors | undefined): Readonly<Record<string, string>> {
  return {
    "Content-Type": "application/json",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    ...(cors?.variesByOrigin === true && { Vary: "Origin" }),
  };
}

/** What the page may load: only its own script and style sheet. */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const always: Readonly<Record<string, string>> = {
  "Content-Security-Policy": pagePolicy,
  "Cross-Origin-Opener-Policy": "same-origin",
  // With no-referrer browsers say of the login's form that it comes from nowhere (`Origin: null`).
  "Referrer-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  // What operators see is for one of them; the files of the page say otherwise themselves.
  "Cache-Control": "no-store",
};

/** Adds headers that keep an answer out of other pages and caches, unless it sets its own. */
export function withPageHeaders(answer: Response): Response {
  // Headers of some responses cannot be changed.
  const response = new Response(answer.body, answer);
  for (const [name, value] of Object.entries(always))
    if (!response.headers.has(name)) response.headers.set(name, value);
  return response;
}

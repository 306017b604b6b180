import { randomBytes, timingSafeEqual } from "node:crypto";
import { cookieIn, csrfCookie } from "./cookies.ts";

const bytes = 32;
const form = /^[\w-]{43}$/;

/** The token in the cookie of a request, if it can be one of ours. */
export function csrfIn(request: Request): string | undefined {
  const value = cookieIn(request, csrfCookie) ?? "";
  return form.test(value) ? value : undefined;
}

export function newCsrf(): string {
  return randomBytes(bytes).toString("base64url");
}

/** Whether a request comes from the page: it repeats in a header what is in its cookie. */
export function repeatsCsrf(request: Request): boolean {
  const expected = csrfIn(request);
  const given = request.headers.get("x-csrf-token") ?? "";
  return (
    expected !== undefined && form.test(given) && timingSafeEqual(Buffer.from(given), Buffer.from(expected))
  );
}

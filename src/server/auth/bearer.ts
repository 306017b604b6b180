/** The bearer token of a request, or what there is instead of one. */
export type Bearer = { readonly token: string } | { readonly token?: never; readonly instead: Tokenless };

export type Tokenless = "none" | "malformed" | "in_query";

/** The one form of RFC 6750; several headers come joined by commas and are none of it. */
const form = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/** Longer than any that fits into the headers that Node takes. */
const longest = 16 * 1024;

/** Reads the header only: a token in the URL is in logs and histories by then, and is refused. */
export function readBearer({ headers, url }: Request): Bearer {
  if (new URL(url).searchParams.has("access_token")) return { instead: "in_query" };
  const header = headers.get("authorization") ?? "";
  if (!/^Bearer(?: |$)/i.test(header)) return { instead: "none" };
  const [, token] = header.length > longest ? [] : (form.exec(header) ?? []);
  return token === undefined ? { instead: "malformed" } : { token };
}

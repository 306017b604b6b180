/** What an operator logged in with. */
export const operatorCookie = "holdfast-operator";
/** What a request that changes something has to repeat in a header, which no page of others can read or send. */
export const csrfCookie = "holdfast-csrf";

/** Browsers drop larger cookies without a word. */
const mostChars = 3_900;

export interface CookieScope {
  readonly path: string;
  /** Whether it is sent over HTTPS alone. */
  readonly secure: boolean;
}

/** The token in the cookie of a request; undefined if there is none. */
export function tokenIn(request: Request): string | undefined {
  const value = cookieIn(request, operatorCookie) ?? "";
  const token = /^[\w-]+$/.test(value) ? Buffer.from(value, "base64url").toString("latin1") : "";
  return isToken(token) ? token : undefined;
}

/** Whether a text can be a token, which a header takes and a cookie has room for. */
export function isToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text) && text.length <= (mostChars / 4) * 3;
}

export function cookieIn({ headers }: Request, name: string): string | undefined {
  const prefix = `${name}=`;
  const pair = (headers.get("cookie") ?? "").split(/; */).find((each) => each.startsWith(prefix));
  return pair?.slice(prefix.length);
}

/** Lax, so that operators who follow a link to a task are logged in there. */
export function tokenCookie(token: string, scope: CookieScope): string {
  return `${operatorCookie}=${Buffer.from(token, "latin1").toString("base64url")}; ${attributes("Lax", scope)}`;
}

export function strictCookie(name: string, value: string, scope: CookieScope): string {
  return `${name}=${value}; ${attributes("Strict", scope)}`;
}

export function noCookie(name: string, path: string): string {
  return `${name}=; Path=${path}; HttpOnly; Max-Age=0`;
}

function attributes(sameSite: "Lax" | "Strict", { path, secure }: CookieScope): string {
  return `Path=${path}; HttpOnly; SameSite=${sameSite}${secure ? "; Secure" : ""}`;
}

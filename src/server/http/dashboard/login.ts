import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { OperatorSessions } from "../../../admin/operator-sessions.ts";
import type { Operator } from "../operator-options.ts";
import { type BodyReads, type ParsedBody } from "../request-body.ts";
import { adaptedRefusal, type OperatorGate, refusal } from "../operator-endpoint.ts";
import { isJsonObject } from "../../../generation/message.ts";

const references: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text as HTML shows it, also between quotes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => references[character] ?? character);
}

/** What stands for the session of an operator. */
export const operatorCookie = "holdfast-operator";
/** What a request that changes something has to repeat in a header, which no page of others can read or send. */
export const csrfCookie = "holdfast-csrf";

/** The longest token that an operator may log in with. */
const mostChars = 8_192;

export interface CookieScope {
  readonly path: string;
  /** Whether it is sent over HTTPS alone. */
  readonly secure: boolean;
}

/** What stands for the session of a request; undefined if there is none. */
function secretIn(request: Request): string | undefined {
  const value = cookieIn(request, operatorCookie) ?? "";
  return secretForm.test(value) ? value : undefined;
}

/** Whether a text can be a token, which a header takes. */
function isToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text) && text.length <= mostChars;
}

export function cookieIn({ headers }: Request, name: string): string | undefined {
  const prefix = `${name}=`;
  const pair = (headers.get("cookie") ?? "").split(/; */).find((each) => each.startsWith(prefix));
  return pair?.slice(prefix.length);
}

/** Lax, so that operators who follow a link to a task are logged in there. */
export function laxCookie(name: string, value: string, scope: CookieScope): string {
  return `${name}=${value}; ${attributes("Lax", scope)}`;
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

const bytes = 32;
/** Of what is made of so many bytes. */
const secretForm = /^[\w-]{43}$/;

/** The token in the cookie of a request, if it can be one of ours. */
export function csrfIn(request: Request): string | undefined {
  const value = cookieIn(request, csrfCookie) ?? "";
  return secretForm.test(value) ? value : undefined;
}

export function newCsrf(): string {
  return randomBytes(bytes).toString("base64url");
}

/** Whether a request comes from the page: it repeats in a header what is in its cookie. */
export function repeatsCsrf(request: Request): boolean {
  const expected = csrfIn(request);
  const given = request.headers.get("x-csrf-token") ?? "";
  return (
    expected !== undefined &&
    secretForm.test(given) &&
    timingSafeEqual(Buffer.from(given), Buffer.from(expected))
  );
}

export interface LoginSetup {
  /** Of the dashboard. */
  readonly path: string;
  readonly gate: OperatorGate;
  readonly bodies: BodyReads;
  readonly sessions: OperatorSessions;
  /** How long a session lasts. */
  readonly lastsMs: number;
  /** What the login page offers besides a token. */
  readonly offer?: LoginOffer | undefined;
  /** Milliseconds since some point. */
  readonly elapsed: () => number;
}

/** Identifies the operator of dashboard requests, and lets operators log in once. */
export class Login {
  readonly #setup: LoginSetup;
  readonly #attempts: LoginAttempts;

  constructor(setup: LoginSetup) {
    this.#setup = setup;
    this.#attempts = new LoginAttempts(setup.elapsed);
  }

  /** The operator of a request, by the session of the login, or by the request's own authentication; or the refusal. */
  async operatorOf(request: Request): Promise<Operator | Response> {
    const { gate, sessions } = this.#setup;
    const secret = request.headers.has("authorization") ? undefined : secretIn(request);
    const session = secret === undefined ? undefined : await sessions.find(secret);
    if (session === undefined) return gate.admit(request);
    gate.assertOpen();
    return { actor: session.actor, role: session.role };
  }

  /** The login page, saying why a login failed; it leads to `next`, by default to the page's beginning. */
  page(status = 200, more: Partial<Pick<LoginPage, "next" | "problem" | "headers">> = {}): Response {
    const { path, offer } = this.#setup;
    return loginPage({ path, offer, next: `${path}/`, status, ...more });
  }

  /** Counts an attempt to log in. The answer for an address that has failed too often. */
  refusalOf(address: string, next?: string): Response | undefined {
    const waitMs = this.#attempts.begin(address);
    if (waitMs === 0) return undefined;
    const headers = { "Retry-After": String(Math.ceil(waitMs / 1_000)) };
    const problem = "Too many failed logins. Try again in a minute.";
    return this.page(429, { problem, headers, ...(next !== undefined && { next }) });
  }

  succeeded(address: string): void {
    this.#attempts.succeeded(address);
  }

  /** Ends the session of a request. */
  async leave(request: Request): Promise<void> {
    const secret = secretIn(request);
    if (secret !== undefined) await this.#setup.sessions.leave(secret);
  }

  /** The login page in the place of another one. */
  instead(request: Request, refused: Response): Response {
    const { pathname, search } = new URL(request.url);
    const headers = { "WWW-Authenticate": refused.headers.get("www-authenticate") ?? "Bearer" };
    return this.page(401, { next: this.#next(`${pathname}${search}`), headers });
  }

  /** Logs in by the form of the login page. */
  async byForm(request: Request, parsed: ParsedBody | undefined, address: string): Promise<Response> {
    const form = await loginForm(request, this.#setup.bodies, parsed);
    return form instanceof Response ? form : this.logIn(request, form.token, form.next, address);
  }

  /** Logs an operator in by a token, and redirects to `next`. */
  async logIn(request: Request, token: string, next: string, address: string): Promise<Response> {
    const { gate } = this.#setup;
    const place = this.#next(next);
    const refused = this.refusalOf(address, place);
    if (refused !== undefined) return refused;
    const operator = isToken(token) ? await gate.admit(withToken(request, token)) : undefined;
    if (operator === undefined || operator instanceof Response) {
      const headers = { "WWW-Authenticate": operator?.headers.get("www-authenticate") ?? "Bearer" };
      return this.page(401, { next: place, problem: "This token is not valid.", headers });
    }
    this.succeeded(address);
    return this.begin(operator, place, isHttps(request));
  }

  /** Begins the session of an operator, and redirects to `next`. */
  async begin({ actor, role = "admin" }: Operator, next: string, secure: boolean): Promise<Response> {
    const { path, sessions, lastsMs } = this.#setup;
    const secret = await sessions.begin(actor, role, lastsMs);
    const headers = new Headers({ Location: this.#next(next) });
    headers.append("Set-Cookie", laxCookie(operatorCookie, secret, { path, secure }));
    headers.append("Set-Cookie", strictCookie(csrfCookie, newCsrf(), { path, secure }));
    return new Response(null, { status: 303, headers });
  }

  /** A page of the dashboard: a login never redirects elsewhere. */
  #next(place: string): string {
    const { path } = this.#setup;
    const here = "http://localhost";
    if (!place.startsWith(`${path}/`) || !URL.canParse(place, here)) return `${path}/`;
    const { origin, pathname, search } = new URL(place, here);
    const isPage = origin === here && pathname.startsWith(`${path}/`) && pathname !== `${path}/login`;
    return isPage ? `${pathname}${search}` : `${path}/`;
  }
}

/** Whether the browser uses HTTPS, possibly only to a proxy: the origin of its page shows that. */
export function isHttps({ url, headers }: Request): boolean {
  return (headers.get("origin") ?? url).startsWith("https:");
}

/** The request with the token in its `Authorization` header. Without its body, which no authentication reads. */
function withToken({ url, method, headers: given, signal }: Request, token: string): Request {
  const headers = new Headers(given);
  headers.set("Authorization", `Bearer ${token}`);
  return new Request(url, { method, headers, signal });
}

export interface LoginForm {
  readonly token: string;
  readonly next: string;
}

/** The data of the login form, even if a framework has read it already, or the refusal of anything else. */
export async function loginForm(
  request: Request,
  bodies: BodyReads,
  parsed: ParsedBody | undefined,
): Promise<LoginForm | Response> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type))
    return refusal(415, "invalid_request", "Send the login form as application/x-www-form-urlencoded.");
  const fields = parsed === undefined ? await bodies.text(request) : parsed.value;
  if (fields instanceof Response) return adaptedRefusal(fields);
  if (isJsonObject(fields) && !(fields instanceof Uint8Array))
    return { token: textOf(fields["token"]), next: textOf(fields["next"]) };
  const search = new URLSearchParams(textOf(fields));
  return { token: search.get("token") ?? "", next: search.get("next") ?? "" };
}

function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  return typeof value === "string" ? value : "";
}

const windowMs = 60_000;

const mostAttempts = 10;

/** Maximum number of addresses remembered; the one that tried first is dropped. */
const mostAddresses = 10_000;

interface Attempts {
  count: number;
  readonly until: number;
}

/** Limits attempts to guess tokens to ten a minute. */
export class LoginAttempts {
  readonly #elapsed: () => number;
  readonly #attempts = new Map<string, Attempts>();

  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
  }

  /** Counts an attempt; how long, in ms, its address has to wait before it may make one: 0 is now. */
  begin(address: string): number {
    const now = this.#elapsed();
    const known = this.#attempts.get(address);
    if (known === undefined || known.until <= now) {
      this.#attempts.delete(address);
      const [oldest] = this.#attempts.keys();
      if (oldest !== undefined && this.#attempts.size >= mostAddresses) this.#attempts.delete(oldest);
      this.#attempts.set(address, { count: 1, until: now + windowMs });
      return 0;
    }
    known.count += 1;
    return known.count > mostAttempts ? known.until - now : 0;
  }

  succeeded(address: string): void {
    this.#attempts.delete(address);
  }
}

/** It looks like the page behind it, whose style sheet is not for strangers. */
const style = `
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; background: light-dark(#f6f7f9, #10151c); color: light-dark(#16202c, #e7ecf2); }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; }
main { box-sizing: border-box; width: min(24rem, 92vw); padding: 1.5rem; background: light-dark(#ffffff, #171e27); border: 1px solid light-dark(#d8dde4, #323d4b); border-radius: 10px; }
h1 { margin: 0 0 1rem; font-size: 1.45rem; }
label { display: block; margin-bottom: .25rem; }
a { color: light-dark(#0b5cad, #83bdff); }
input, button { box-sizing: border-box; width: 100%; font: inherit; padding: .5rem .7rem; border-radius: 6px; border: 1px solid light-dark(#7b8794, #6b7a8c); background: none; color: inherit; }
button { margin-top: 1rem; cursor: pointer; background: light-dark(#0b5cad, #83bdff); border-color: transparent; color: light-dark(#ffffff, #0d1620); }
:focus-visible { outline: 2px solid light-dark(#0b5cad, #83bdff); outline-offset: 2px; }
[role="alert"] { border-left: 4px solid light-dark(#b3261e, #ff9d94); padding-left: .75rem; }
`;

const styleHash = createHash("sha256").update(style).digest("base64");

/** The page has one style and no script. */
const policy = `default-src 'none'; img-src data:; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;

/** A login elsewhere. */
export interface LoginOffer {
  /** Below the path of the dashboard. */
  readonly path: string;
  readonly label: string;
}

export interface LoginPage {
  /** Of the dashboard. */
  readonly path: string;
  /** Where to go after the login. */
  readonly next: string;
  readonly offer?: LoginOffer | undefined;
  /** Why the login failed. */
  readonly problem?: string;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

function offerOf(path: string, next: string, offer: LoginOffer | undefined): string {
  if (offer === undefined) return "";
  const href = `${path}${offer.path}?next=${encodeURIComponent(next)}`;
  return `<p><a href="${escapeHtml(href)}">${escapeHtml(offer.label)}</a></p>\n`;
}

/** The page where operators log in: the only page that is public. */
export function loginPage({ path, next, offer, problem, status, headers }: LoginPage): Response {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Log in to Holdfast</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
<h1>Holdfast</h1>
${problem === undefined ? "" : `<p role="alert">${escapeHtml(problem)}</p>\n`}${offerOf(path, next, offer)}<form method="post" action="${escapeHtml(path)}/login">
<input type="hidden" name="next" value="${escapeHtml(next)}">
<label for="token">Operator token</label>
<input id="token" name="token" type="password" autocomplete="current-password" spellcheck="false" required autofocus>
<button type="submit">Log in</button>
</form>
</main>
</body>
</html>
`;
  return new Response(html, {
    status,
    headers: { ...headers, "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy },
  });
}

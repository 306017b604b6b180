import type { Operator } from "../operator-options.ts";
import type { BodyReads } from "../body-reads.ts";
import type { OperatorGate } from "../operator-gate.ts";
import type { ParsedBody } from "../read-body.ts";
import { csrfCookie, isToken, strictCookie, tokenCookie, tokenIn } from "./cookies.ts";
import { newCsrf } from "./csrf.ts";
import { LoginAttempts } from "./login-attempts.ts";
import { loginForm } from "./login-form.ts";
import { loginPage } from "./login-page.ts";

export interface LoginSetup {
  /** Of the dashboard. */
  readonly path: string;
  readonly gate: OperatorGate;
  readonly bodies: BodyReads;
  readonly now: () => number;
}

/** Identifies the operator of dashboard requests, and lets operators log in once. */
export class Login {
  readonly #setup: LoginSetup;
  readonly #attempts: LoginAttempts;

  constructor(setup: LoginSetup) {
    this.#setup = setup;
    this.#attempts = new LoginAttempts(setup.now);
  }

  /** The operator of a request, by the token of the login, or by the request's own authentication; or the refusal. */
  async operatorOf(request: Request): Promise<Operator | Response> {
    const { gate } = this.#setup;
    const token = request.headers.has("authorization") ? undefined : tokenIn(request);
    if (token !== undefined) {
      const operator = await gate.admit(withToken(request, token));
      if (!(operator instanceof Response)) return operator;
    }
    return gate.admit(request);
  }

  /** The login page in the place of another one. */
  instead(request: Request, refused: Response): Response {
    const { pathname, search } = new URL(request.url);
    const challenge = { "WWW-Authenticate": refused.headers.get("www-authenticate") ?? "Bearer" };
    return loginPage({
      path: this.#setup.path,
      next: this.#next(`${pathname}${search}`),
      status: 401,
      headers: challenge,
    });
  }

  page(): Response {
    const { path } = this.#setup;
    return loginPage({ path, next: `${path}/`, status: 200 });
  }

  /** Logs in by the form of the login page. */
  async byForm(request: Request, parsed: ParsedBody | undefined, address: string): Promise<Response> {
    const form = await loginForm(request, this.#setup.bodies, parsed);
    return form instanceof Response ? form : this.logIn(request, form.token, form.next, address);
  }

  /** Logs an operator in by a token, and redirects to `next`. */
  async logIn(request: Request, token: string, next: string, address: string): Promise<Response> {
    const { path, gate } = this.#setup;
    const place = this.#next(next);
    const waitMs = this.#attempts.begin(address);
    if (waitMs > 0) {
      const headers = { "Retry-After": String(Math.ceil(waitMs / 1_000)) };
      const problem = "Too many failed logins. Try again in a minute.";
      return loginPage({ path, next: place, problem, status: 429, headers });
    }
    const operator = isToken(token) ? await gate.admit(withToken(request, token)) : undefined;
    if (operator === undefined || operator instanceof Response) {
      const headers = { "WWW-Authenticate": operator?.headers.get("www-authenticate") ?? "Bearer" };
      const problem = "This token is not valid.";
      return loginPage({ path, next: place, problem, status: 401, headers });
    }
    this.#attempts.succeeded(address);
    const scope = { path, secure: isHttps(request) };
    const headers = new Headers({ Location: place });
    headers.append("Set-Cookie", tokenCookie(token, scope));
    headers.append("Set-Cookie", strictCookie(csrfCookie, newCsrf(), scope));
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
function isHttps({ url, headers }: Request): boolean {
  return (headers.get("origin") ?? url).startsWith("https:");
}

/** The request with the token in its `Authorization` header. Without its body, which no authentication reads. */
function withToken({ url, method, headers: given, signal }: Request, token: string): Request {
  const headers = new Headers(given);
  headers.set("Authorization", `Bearer ${token}`);
  return new Request(url, { method, headers, signal });
}

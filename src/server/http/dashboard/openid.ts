import type { Configuration } from "openid-client";
import { assertOperator } from "../operator-endpoint.ts";
import type { OpenIdOptions } from "../operator-options.ts";
import type { OnError } from "../../faults.ts";
import { cookieIn, isHttps, laxCookie, type Login, noCookie } from "./login.ts";

/** What logins have to come back with: state, nonce and verifier, and where each is to lead. For ten minutes. */
const loginCookie = "holdfast-openid";
const loginLastsSeconds = 600;
/** Each tab of a browser may begin one. Together they stay below the 4096 bytes that browsers keep. */
const mostBegun = 3;
const longestNext = 600;
/** What a provider sends back that counts here. */
const answered = ["code", "state", "iss", "error", "error_description"] as const;

/** Below the path of the dashboard. */
export const openIdPath = "/login/openid";
const callbackPath = `${openIdPath}/callback`;

const away = "The identity provider does not answer. Try again.";
const notBegun = "The login took too long, or began in another browser. Try again.";
const notConfirmed = "The identity provider did not confirm this login. Try again.";

interface Begun {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly next: string;
}

/** Logs operators in with OpenID Connect: authorization code flow with PKCE. */
export class OpenIdLogin {
  readonly #options: OpenIdOptions;
  readonly #path: string;
  readonly #login: Login;
  readonly #onError: OnError;
  #found: Promise<Configuration | undefined> | undefined;

  /** `onError` is told why logins fail that the operator cannot mend. */
  constructor(options: OpenIdOptions, path: string, login: Login, onError: OnError) {
    this.#onError = onError;
    this.#options = options;
    this.#path = path;
    this.#login = login;
  }

  /** Answers a request below `openIdPath`; undefined for another one. */
  answer(request: Request, address: string): Promise<Response> | undefined {
    const { pathname } = new URL(request.url);
    if (request.method !== "GET") return undefined;
    if (pathname === `${this.#path}${openIdPath}`) return this.#begin(request);
    return pathname === `${this.#path}${callbackPath}` ? this.#end(request, address) : undefined;
  }

  async #begin(request: Request): Promise<Response> {
    const client = await import("openid-client");
    const issuer = await this.#issuer();
    if (issuer === undefined) return this.#failed(away, 503);
    const next = new URL(request.url).searchParams.get("next") ?? "";
    const begun: Begun = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
      next: Buffer.byteLength(next) > longestNext ? "" : next,
    };
    const url = client.buildAuthorizationUrl(issuer, {
      redirect_uri: this.#options.redirectUri,
      scope: this.#options.scope ?? "openid profile email",
      code_challenge: await client.calculatePKCECodeChallenge(begun.verifier),
      code_challenge_method: "S256",
      state: begun.state,
      nonce: begun.nonce,
    });
    const cookie = this.#cookieOf(request, [begun, ...begunIn(request)].slice(0, mostBegun));
    return new Response(null, { status: 303, headers: { Location: url.href, "Set-Cookie": cookie } });
  }

  #cookieOf(request: Request, begun: readonly Begun[]): string {
    if (begun.length === 0) return noCookie(loginCookie, this.#path);
    const value = Buffer.from(JSON.stringify(begun)).toString("base64url");
    return `${laxCookie(loginCookie, value, this.#scope(request))}; Max-Age=${loginLastsSeconds}`;
  }

  /** Whatever comes of it, this login is over, and those of other tabs are not. */
  async #end(request: Request, address: string): Promise<Response> {
    const given = new URL(request.url).searchParams;
    const all = begunIn(request);
    const begun = all.find(({ state }) => state === given.get("state"));
    const answer =
      begun === undefined ? this.#failed(notBegun) : await this.#endOf(begun, request, given, address);
    const others = all.filter((each) => each !== begun);
    answer.headers.append("Set-Cookie", this.#cookieOf(request, others));
    return answer;
  }

  async #endOf(begun: Begun, request: Request, given: URLSearchParams, address: string): Promise<Response> {
    // Each asks the provider something, also with a code that somebody made up.
    const refused = this.#login.refusalOf(address);
    if (refused !== undefined) return refused;
    const client = await import("openid-client");
    const issuer = await this.#issuer();
    if (issuer === undefined) return this.#failed(away, 503);
    const back = new URL(this.#options.redirectUri);
    back.search = "";
    for (const name of answered) {
      const value = given.get(name) ?? "";
      if (value !== "") back.searchParams.set(name, value);
    }
    if (!back.searchParams.has("code") && !back.searchParams.has("error")) return this.#failed(notConfirmed);
    let claims: Readonly<Record<string, unknown>> | undefined;
    try {
      const tokens = await client.authorizationCodeGrant(issuer, back, {
        pkceCodeVerifier: begun.verifier,
        expectedState: begun.state,
        expectedNonce: begun.nonce,
        idTokenExpected: true,
      });
      claims = tokens.claims();
    } catch (error) {
      // What the provider itself refuses, or the person, is nothing to mend here, nor is a code that somebody made up.
      const isRefused = error instanceof client.AuthorizationResponseError;
      const isMadeUp = error instanceof client.ResponseBodyError && error.error === "invalid_grant";
      if (!isRefused && !isMadeUp) this.#onError(error);
      return this.#failed(notConfirmed);
    }
    const operator = claims && (await this.#options.operator(claims));
    if (operator === undefined || operator === null)
      return this.#failed("You are known, but no operator of this server. Ask those who run it.");
    assertOperator(operator, "dashboard");
    this.#login.succeeded(address);
    return this.#login.begin(operator, begun.next, this.#scope(request).secure);
  }

  #failed(problem: string, status = 401): Response {
    return this.#login.page(status, { problem });
  }

  /** Behind a proxy, the address that the provider redirects to says how browsers come here. */
  #scope(request: Request): { readonly path: string; readonly secure: boolean } {
    const secure = this.#options.redirectUri.startsWith("https:") || isHttps(request);
    return { path: this.#path, secure };
  }

  /** What the provider says of itself, read at the first login, and again after a failure; undefined if it does not say it. */
  #issuer(): Promise<Configuration | undefined> {
    this.#found ??= this.#discover().catch((error: unknown) => {
      this.#found = undefined;
      this.#onError(error);
      return undefined;
    });
    return this.#found;
  }

  async #discover(): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = this.#options;
    const client = await import("openid-client");
    const url = new URL(issuer);
    const isHere = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
    return client.discovery(url, clientId, clientSecret, undefined, {
      // The signature of the id token counts too, not only that it came over TLS.
      execute: [client.enableNonRepudiationChecks, ...(isHere ? [client.allowInsecureRequests] : [])],
    });
  }
}

function begunIn(request: Request): readonly Begun[] {
  try {
    const value = Buffer.from(cookieIn(request, loginCookie) ?? "", "base64url").toString();
    return (JSON.parse(value) as readonly Begun[]).filter(({ state, nonce, verifier, next }) =>
      [state, nonce, verifier, next].every((each) => typeof each === "string"),
    );
  } catch {
    return [];
  }
}

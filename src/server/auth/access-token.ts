import { type AuthInfo, OAuthError, OAuthErrorCode } from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { Clock } from "../../runtime/clock.ts";
import { isLoopback } from "../http/listen.ts";

/** A verified access token. Your own tools get it as `authInfo`, with all its claims in `extra`. */
export interface AccessToken extends AuthInfo {
  /** The authorization server that issued it. */
  readonly issuer: string;
  /** The user or client that it represents, unique at that issuer. */
  readonly subject: string | undefined;
}

/**
 * Verifies access tokens: `jwtVerifier`, `introspectionVerifier`, or your own object that checks issuer, audience and expiry. It is also an
 * `OAuthTokenVerifier` of the SDK.
 */
export interface TokenVerifier {
  /**
   * Resolves for a valid token. Rejects with an `OAuthError` of the SDK: `invalid_token` refuses the request with 401,
   * `temporarily_unavailable` with 503. Any other rejection is answered with 500.
   */
  verifyAccessToken(token: string): Promise<AccessToken>;
}

/** The rejection of a token. The caller sees the message. */
export function invalidToken(message: string): OAuthError {
  return new OAuthError(OAuthErrorCode.InvalidToken, message);
}

/** The rejection if the authorization server cannot be asked about a token. The caller does not see the message. */
export function unavailable(message: string, cause?: unknown): OAuthError {
  const error = new OAuthError(OAuthErrorCode.TemporarilyUnavailable, message);
  return cause === undefined ? error : Object.assign(error, { cause });
}

/** The same if nothing is wrong with the server, and callers could otherwise fill the operator's log with such errors. */
export function undecided(message: string): OAuthError {
  return Object.assign(unavailable(message), { undecided: true });
}

export function isUndecided(error: unknown): boolean {
  return error instanceof OAuthError && "undecided" in error;
}

export function isUnavailable(error: unknown): boolean {
  return error instanceof OAuthError && error.code === OAuthErrorCode.TemporarilyUnavailable;
}

/**
 * A token's claims, in the form that the server uses. Throws `invalid_token` for one that is bound to a key (DPoP): it must not count without
 * the proof.
 */
export function accessTokenOf(token: string, issuer: string, claims: JsonObject): AccessToken {
  const { exp, cnf } = claims;
  if (isJsonObject(cnf) && cnf["jkt"] !== undefined) throw invalidToken("The token is not a bearer token");
  return {
    token,
    issuer,
    subject: claimText(claims["sub"]),
    // The SDK wants a string; some issuers name the client by `azp`, and few not at all.
    clientId: claimText(claims["client_id"]) ?? claimText(claims["azp"]) ?? "",
    scopes: [...scopesOf(claims)],
    ...(typeof exp === "number" && { expiresAt: exp }),
    extra: claims,
  };
}

/** The standard name is `scope`; some issuers use `scp`. Either is a list, or a text with spaces. */
function scopesOf({ scope, scp }: JsonObject): ReadonlySet<string> {
  const given = scope ?? scp;
  const all: readonly unknown[] =
    typeof given === "string" ? given.split(" ") : Array.isArray(given) ? given : [];
  return new Set(all.filter((one): one is string => typeof one === "string" && one !== ""));
}

function claimText(claim: unknown): string | undefined {
  return typeof claim === "string" && claim !== "" ? claim : undefined;
}

/** Whether tokens can be issued for it: a name, or several of which one has to match. */
export function isAudience(given: unknown): boolean {
  const all: readonly unknown[] = [given].flat();
  return all.length > 0 && all.every((one) => typeof one === "string" && one !== "");
}

export interface EndpointSetup {
  /** What it is, for messages. */
  readonly what: string;
  readonly url: URL;
  readonly timeoutMs: number;
  /** Whether `http:` beyond this machine is allowed. */
  readonly allowInsecureUrl: boolean;
  readonly clock: Clock;
}

/** More than this is no answer to a question about keys or a token. */
const maxBytes = 1024 * 1024;

/** A URL of an authorization server that answers with a JSON object. */
export class Endpoint {
  readonly #setup: EndpointSetup;
  readonly #href: string;

  /** Throws `configuration` for a URL where others on the network could answer. */
  constructor(setup: EndpointSetup) {
    const { url, what, allowInsecureUrl } = setup;
    const trusted = url.protocol === "https:" || isLoopback(url.hostname.replace(/^\[|\]$/g, ""));
    if (!trusted && !(allowInsecureUrl && url.protocol === "http:")) {
      const message = `${what} at ${url.origin} must be an https: URL: otherwise, anyone on the network could answer in its place.`;
      throw new HoldfastError("configuration", message);
    }
    this.#setup = setup;
    this.#href = url.href;
  }

  /** Rejects with `temporarily_unavailable` if no JSON object arrives in time. */
  async ask(init: RequestInit = {}): Promise<JsonObject> {
    const { what, timeoutMs, clock } = this.#setup;
    const timeout = new AbortController();
    const cancelTimer = clock.after(timeoutMs, () => {
      timeout.abort(new Error(`No answer within ${timeoutMs} ms.`));
    });
    try {
      // What is asked with, a secret or a token, goes nowhere else.
      const response = await fetch(this.#href, { ...init, redirect: "error", signal: timeout.signal });
      const body = await textOf(response);
      if (response.status !== 200) throw new Error(`It answered with status ${response.status}.`);
      const json: unknown = JSON.parse(body);
      if (isJsonObject(json)) return json;
      throw new Error("It did not answer with a JSON object.");
    } catch (cause) {
      throw unavailable(`${what} at ${new URL(this.#href).origin} is not available.`, cause);
    } finally {
      cancelTimer();
    }
  }
}

async function textOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error(`It answered with more than ${maxBytes} bytes.`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

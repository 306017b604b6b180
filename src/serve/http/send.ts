import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { systemClock } from "../../client/clock.ts";
import { fetchBy } from "../../client/transport/node-fetch.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import {
  allowedAddresses,
  checkedLookup,
  RefusedAddress,
  refusalOfHost,
} from "../../runtime/allowed-addresses.ts";
import { NonRetryableError } from "../../runtime/tool/tool-errors.ts";

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined;
  /** The same request with the credentials of now, which are in nothing that is stored or shown. */
  readonly prove?: ((request: HttpRequest) => Promise<HttpRequest>) | undefined;
}

/** The answer to a request, as the journal keeps it. */
export interface HttpAnswer {
  /** Where it came from, in the end. */
  readonly url: string;
  readonly status: number;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** A body of text. */
  readonly text?: string;
  /** Any other body. */
  readonly bytes?: Uint8Array;
  /** The body has more than `maxBytes`, and was not read. */
  readonly isLarge?: true;
}

/** Whether the service has not done what was asked. A redirect is followed only to where the answer is (303). */
export function isRefused({ status, headers }: HttpAnswer): boolean {
  return status >= 300 && !(status === 303 && headers["location"] !== undefined);
}

/** The JSON of an answer; undefined if it has none. */
export function jsonOf({ text }: HttpAnswer): unknown {
  try {
    return text === undefined || text === "" ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What became of a request that is not answered as it should be. */
export function refusalText({ status, headers, url, text = "" }: HttpAnswer): string {
  const { location } = headers;
  const answered = `${shown(url)} answered with HTTP ${status}`;
  if (status >= 400 || location === undefined) return `${answered}. ${text.slice(0, 2_000)}`.trim();
  const to = URL.canParse(location, url) ? shown(new URL(location, url).href) : "no address";
  return `${answered}, a redirect to ${to}, which is not followed.`;
}

export interface SendOptions {
  readonly signal: AbortSignal;
  /** The longest body that is read; more is left unread (`isLarge`). */
  readonly maxBytes: number;
  /** How long the whole answer may take, in milliseconds. Left out: no limit. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Sends requests to services: to addresses of the public internet, and to those that `allow` names, as hosts, addresses or ranges. Uses no proxies, and
 * follows no redirects.
 */
export class Sender {
  readonly #allowed: ReturnType<typeof allowedAddresses>;
  readonly #https: typeof fetch;
  readonly #http: typeof fetch;

  constructor(allow: readonly string[] = []) {
    this.#allowed = allowedAddresses(allow);
    const lookup = checkedLookup(this.#allowed);
    this.#https = fetchBy({ agent: new HttpsAgent({ lookup }) }) as typeof fetch;
    this.#http = fetchBy({ agent: new HttpAgent({ lookup }) }) as typeof fetch;
  }

  /** Sends a request once, and reads what fits of the answer. */
  async send(request: HttpRequest, { signal, maxBytes, timeoutMs }: SendOptions): Promise<HttpAnswer> {
    const { method, url, headers, body } = request;
    const { protocol, hostname } = new URL(url);
    const refusal = refusalOfHost(hostname, this.#allowed);
    if (refusal !== undefined && !this.#allowed.hosts.has(hostname)) throw new RefusedAddress(refusal);
    const deadline = timeoutMs === undefined ? undefined : systemClock.deadline(timeoutMs);
    try {
      const signals = deadline === undefined ? signal : AbortSignal.any([signal, deadline.signal]);
      const init = { method, headers: { ...headers }, signal: signals, ...(body !== undefined && { body }) };
      const response = await (protocol === "https:" ? this.#https : this.#http)(url, init);
      return {
        url,
        status: response.status,
        headers: headersOf(response),
        ...(await bodyOf(response, maxBytes)),
      };
    } finally {
      deadline?.clear();
    }
  }
}

/** Credentials and cookies in an answer are nobody's business. */
function headersOf({ headers }: Response): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name !== "set-cookie"));
}

async function bodyOf(
  { body, headers }: Response,
  maxBytes: number,
): Promise<Pick<HttpAnswer, "text" | "bytes" | "isLarge">> {
  if (body === null) return { text: "" };
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > maxBytes) return { isLarge: true }; // leaving the loop ends the stream
    parts.push(part);
  }
  const bytes = Buffer.concat(parts);
  return isText(headers.get("content-type"))
    ? { text: bytes.toString("utf8") }
    : { bytes: new Uint8Array(bytes) };
}

function isText(type: string | null): boolean {
  return type === null || /^text\/|[/+](?:json|xml|yaml|javascript)\b|urlencoded|ndjson/iu.test(type);
}

/** Without the query, which may have keys in it. */
export function shown(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/** How long an authorization server may take (ms). */
const tokenMs = 30_000;
/** How long before its end a token is asked for again (ms). */
const earlyMs = 30_000;
/** How long a token is used that does not say how long it is valid (ms). */
const unknownLifeMs = 300_000;
const mostTokenBytes = 64 * 1024;

/** A token, and until when it is used, by the monotonic clock. */
export interface Token {
  readonly token: string;
  readonly until: number;
}

/** Gives a token as long as it is used, and then the next one. */
export function keptToken(first: Token | undefined, read: () => Promise<Token>): () => Promise<string> {
  let last = first;
  return async () => {
    if (last === undefined || systemClock.elapsed() >= last.until) last = await read();
    return last.token;
  };
}

/** Asks an authorization server for a token (RFC 6749, section 4). Rejects with why there is none; another try may help unless that is non-retryable. */
export async function askForToken(
  sender: Sender,
  url: string,
  form: URLSearchParams,
  client: { readonly clientId?: string | undefined; readonly clientSecret?: string | undefined },
): Promise<Token> {
  const { clientId, clientSecret } = client;
  const headers: Record<string, string> = {
    accept: "application/json",
    "content-type": "application/x-www-form-urlencoded",
  };
  if (clientId !== undefined && clientSecret !== undefined) {
    // Encoded as RFC 6749, section 2.3.1, says.
    const pair = [clientId, clientSecret].map((part) => encodeURIComponent(part)).join(":");
    headers["authorization"] = `Basic ${Buffer.from(pair).toString("base64")}`;
  } else if (clientId !== undefined) form.set("client_id", clientId);
  const signal = new AbortController().signal;
  const request = { method: "POST", url, headers, body: form.toString() };
  const { status, text } = await sender
    .send(request, { maxBytes: mostTokenBytes, signal, timeoutMs: tokenMs })
    .catch((cause: unknown) => {
      assertAllowed(url, cause);
      throw new Error(`The authorization server ${shown(url)} does not answer: ${reasonOf(cause)}`, {
        cause,
      });
    });
  const { access_token: token, token_type: type, expires_in: seconds, error } = jsonObjectIn(text);
  if (typeof type === "string" && type.toLowerCase() !== "bearer")
    throw new NonRetryableError(
      `The authorization server gave a token of type ${JSON.stringify(type.slice(0, 100))}. Only tokens of type "Bearer" can be used.`,
    );
  if (status === 200 && typeof token === "string") {
    const lifeMs = typeof seconds === "number" ? seconds * 1_000 : unknownLifeMs;
    return { token, until: systemClock.elapsed() + Math.max(0, lifeMs - earlyMs) };
  }
  const why = `The authorization server gave no token (HTTP ${status}${typeof error === "string" ? `: ${error}` : ""}).`;
  throw status === 429 || status >= 500 ? new Error(why) : new NonRetryableError(why);
}

function jsonObjectIn(text: string | undefined): JsonObject {
  try {
    const json: unknown = JSON.parse(text ?? "");
    return isJsonObject(json) ? json : {};
  } catch {
    return {};
  }
}

/** Throws if `cause` says that the address may not be reached, which another try does not change. */
export function assertAllowed(url: string, cause: unknown): void {
  if (!causes(cause).some((each) => each instanceof RefusedAddress)) return;
  throw new NonRetryableError(
    `${shown(url)} may not be reached: ${reasonOf(cause)}. To allow it, list it in allow.`,
  );
}

/** What was at the bottom of it. */
export function reasonOf(error: unknown): string {
  return causes(error).at(-1)?.message ?? String(error);
}

export function causes(error: unknown): readonly Error[] {
  const found: Error[] = [];
  for (let at = error; at instanceof Error && found.length < 5; at = at.cause) found.push(at);
  return found;
}

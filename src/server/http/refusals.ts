import { cutOffText, retryAfterSeconds, unanswered } from "../../task/unanswered.ts";
import { isJsonObject } from "../../generation/message.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import { HoldfastError } from "../../task/fault.ts";
import { settingsOf } from "../../options/options.ts";
import type { HttpRequest } from "./http-request.ts";
import { corsOptions, type CorsOptions, type FetchHandlerOptions } from "./http-options.ts";

/** An HTTP refusal with a JSON-RPC error that belongs to no request. */
export function refuse(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
  code = -32600,
  data?: object,
): Response {
  const error = { code, message, ...(data !== undefined && { data }) };
  return Response.json({ jsonrpc: "2.0", id: null, error }, { status, headers });
}

/** 503 for a request of which nothing was begun. */
export function unavailable(message: string): Response {
  return refuse(503, message, { "Retry-After": retryAfterSeconds }, -32600, unanswered(false));
}

/** 503 for a request that was begun, and is not ended here. */
export function cutOff(): Response {
  return refuse(503, cutOffText, { "Retry-After": retryAfterSeconds }, -32603, unanswered(true));
}

/** 429, for the message or batch that was one too many, with when to try again. */
export function tooManyRequests(body: unknown, error: JsonRpcError): Response {
  const retryAfterMs = isJsonObject(error.data) ? Number(error.data["retryAfterMs"]) : 0;
  const headers = { "Retry-After": String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) };
  const id = isJsonObject(body) ? (body["id"] ?? null) : null;
  return Response.json({ jsonrpc: "2.0", id, error }, { status: 429, headers });
}

/** What was refused for coming too fast; the other responses with this status refuse what is too much. */
const tooFast = new WeakSet<Response>();

/** 429 for what comes faster than a rate allows. */
export function tooFastRequests(body: unknown, error: JsonRpcError): Response {
  const refused = tooManyRequests(body, error);
  tooFast.add(refused);
  return refused;
}

export function isTooFast(answer: Response): boolean {
  return tooFast.has(answer);
}

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

/** The headers of a JSON answer, but for those that let a page read it. */
export function jsonHeaders(cors: Cors | undefined): Readonly<Record<string, string>> {
  return {
    "Content-Type": "application/json",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    ...(cors?.variesByOrigin === true && { Vary: "Origin" }),
  };
}

/** What clients of either era send. */
const requestHeaders =
  "Content-Type, Authorization, Accept, Mcp-Session-Id, MCP-Protocol-Version, Last-Event-ID, Mcp-Method, Mcp-Name";
/** The headers that a tool asks for; each has a name of its own. */
const parameterHeader = /^mcp-param-[\w!#$%&'*+.^`|~-]+$/i;
const exposedHeaders = "Mcp-Session-Id, WWW-Authenticate, Retry-After";

/** Tells browsers what pages of other origins may do. */
export class Cors {
  readonly #origins: ReadonlySet<string> | "any";
  readonly #maxAgeS: number;
  readonly #credentials: boolean;

  /** Throws `configuration` for what lets every page act as its user. */
  constructor(options: CorsOptions, allowed: AllowedOrigins) {
    const { origins, maxAgeS, credentials } = settingsOf(corsOptions, options);
    if (origins === "any") {
      if (allowed !== "any") throw wrong('origins "any" also needs allowedOrigins "any".');
      if (credentials)
        throw wrong(
          'origins "any" cannot be combined with credentials: any web page could then act as its user.',
        );
    }
    this.#origins = origins === "any" ? "any" : new Set(origins);
    this.#maxAgeS = maxAgeS;
    this.#credentials = credentials;
  }

  /** `origin` is the header of a request; null if it has none. */
  allows(origin: string | null): boolean {
    return origin !== null && (this.#origins === "any" || this.#origins.has(origin));
  }

  /** The answer to a browser that asks whether it may send a request; undefined for other requests and pages. */
  preflight(request: Pick<HttpRequest, "method" | "headers">): Response | undefined {
    const { method, headers } = request;
    if (method !== "OPTIONS" || !headers.has("access-control-request-method")) return undefined;
    if (!this.allows(headers.get("origin"))) return undefined;
    const asked = (headers.get("access-control-request-headers") ?? "").split(",");
    const parameters = asked.map((name) => name.trim()).filter((name) => parameterHeader.test(name));
    return new Response(null, {
      status: 204,
      headers: {
        "Access-Control-Allow-Methods": "GET, POST, DELETE",
        "Access-Control-Allow-Headers": [requestHeaders, ...parameters].join(", "),
        "Access-Control-Max-Age": String(this.#maxAgeS),
        Vary: "Access-Control-Request-Method, Access-Control-Request-Headers",
      },
    });
  }

  /** Whether answers differ by the page that asks. */
  get variesByOrigin(): boolean {
    return this.#origins !== "any";
  }

  /** Adds to an answer what lets the page that asked read it. */
  addTo(headers: Headers, origin: string | null): void {
    if (headers.has("access-control-allow-origin")) return; // it is for everybody
    if (this.variesByOrigin) headers.append("Vary", "Origin"); // on what other pages get, too: a cache must not mix them up
    for (const [name, value] of Object.entries(this.readableBy(origin))) headers.set(name, value);
  }

  /** The headers that let the page that asked read an answer. */
  readableBy(origin: string | null): Readonly<Record<string, string>> {
    if (!this.allows(origin)) return {};
    return {
      "Access-Control-Allow-Origin": this.variesByOrigin ? (origin ?? "") : "*",
      "Access-Control-Expose-Headers": exposedHeaders,
      ...(this.#credentials && { "Access-Control-Allow-Credentials": "true" }),
    };
  }
}

type AllowedOrigins = FetchHandlerOptions["allowedOrigins"];

/** The rules for other origins in `options`; undefined: their pages may read nothing. */
export function corsOf({ cors, allowedOrigins }: FetchHandlerOptions): Cors | undefined {
  return cors === undefined ? undefined : new Cors(cors, allowedOrigins);
}

function wrong(message: string): HoldfastError {
  return new HoldfastError("configuration", `cors: ${message}`);
}

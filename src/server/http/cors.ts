import { HoldfastError } from "../../task/fault.ts";
import { settingsOf } from "../../options/options.ts";
import { corsOptions, type CorsOptions, type FetchHandlerOptions } from "./http-options.ts";

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
  preflight(request: Request): Response | undefined {
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
    const any = !this.variesByOrigin;
    if (!any) headers.append("Vary", "Origin"); // on what other pages get, too: a cache must not mix them up
    if (!this.allows(origin)) return;
    headers.set("Access-Control-Allow-Origin", any ? "*" : (origin ?? ""));
    headers.set("Access-Control-Expose-Headers", exposedHeaders);
    if (this.#credentials) headers.set("Access-Control-Allow-Credentials", "true");
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

import { HoldfastError } from "../../task/fault.ts";
import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import type { CorsOptions, FetchHandlerOptions } from "./http-options.ts";

/** What clients of either era send. */
const requestHeaders =
  "Content-Type, Authorization, Accept, Mcp-Session-Id, MCP-Protocol-Version, Last-Event-ID, Mcp-Method, Mcp-Name";
/** The headers that a tool asks for; each has a name of its own. */
const parameterHeader = /^mcp-param-[\w!#$%&'*+.^`|~-]+$/i;
const exposedHeaders = "Mcp-Session-Id, WWW-Authenticate, Retry-After";

const corsOptions: OptionNames<CorsOptions> = { origins: true, maxAgeS: true, credentials: true };

/** Tells browsers what pages of other origins may do. */
export class Cors {
  readonly #origins: ReadonlySet<string> | "any";
  readonly #maxAgeS: number;
  readonly #credentials: boolean;

  /** Throws `configuration` for what no browser would ever match, and for what lets every page act as its user. */
  constructor(options: CorsOptions, allowed: AllowedOrigins) {
    assertOptionNames("cors", options, corsOptions);
    const { origins, maxAgeS = 600, credentials = false } = options;
    if (origins === "any") {
      if (allowed !== "any") throw wrong('origins "any" needs allowedOrigins "any" beside it.');
      if (credentials) throw wrong('origins "any" with credentials would let every page act as its user.');
    } else {
      for (const origin of origins) {
        if (!isOrigin(origin)) throw wrong(`"${origin}" is not an origin such as https://app.example.com.`);
      }
    }
    if (!Number.isInteger(maxAgeS) || maxAgeS < 0)
      throw wrong(`maxAgeS has to be 0 or more, not ${maxAgeS}.`);
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

export function isOrigin(origin: string): boolean {
  if (origin.includes("*")) return false; // no pattern is understood
  // Of schemes that it does not know, such as those of browser extensions, the platform gives no origin.
  if (!/^https?:/i.test(origin)) return /^[a-z][a-z\d+.-]*:\/\/[^\s/?#*,@]+$/.test(origin);
  return URL.canParse(origin) && new URL(origin).origin === origin;
}

function wrong(message: string): HoldfastError {
  return new HoldfastError("configuration", `cors: ${message}`);
}

import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
  validateHostHeader,
} from "@modelcontextprotocol/server";
import type { Cors } from "./cors.ts";
import type { FetchHandlerOptions } from "./http-options.ts";

/** `Host` headers whose names were checked. */
const mostHosts = 100;

/** The names under which a server is reached, and those of the pages that may call it. */
export class AllowedNames {
  readonly #hosts: string[] | "any";
  readonly #origins: string[] | "any";
  readonly #cors: Cors | undefined;
  /** By header: clients send the same one with each request. */
  readonly #checked = new Map<string, boolean>();

  constructor(options: FetchHandlerOptions, cors: Cors | undefined) {
    const { allowedHosts = localhostAllowedHostnames() } = options;
    const { allowedOrigins = localhostAllowedOrigins() } = options;
    this.#hosts = allowedHosts === "any" ? "any" : [...allowedHosts];
    this.#origins = allowedOrigins === "any" ? "any" : [...allowedOrigins];
    this.#cors = cors;
  }

  allowsHost(host: string | null | undefined): boolean {
    if (this.#hosts === "any") return true;
    if (host === null || host === undefined) return false;
    const known = this.#checked.get(host);
    if (known !== undefined) return known;
    const { ok } = validateHostHeader(host, this.#hosts);
    if (this.#checked.size >= mostHosts) this.#checked.clear();
    this.#checked.set(host, ok);
    return ok;
  }

  /** The refusal of a request that is addressed to, or comes from, a name that is not served. */
  refusal(request: Request): Response | undefined {
    const { headers } = request;
    if (this.#hosts !== "any" && !this.allowsHost(headers.get("host"))) {
      return hostHeaderValidationResponse(request, this.#hosts);
    }
    const origin = headers.get("origin");
    if (origin === null || this.#origins === "any" || this.#cors?.allows(origin) === true) return undefined;
    return originValidationResponse(request, this.#origins);
  }
}

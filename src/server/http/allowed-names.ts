import {
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  validateHostHeader,
  validateOriginHeader,
} from "@modelcontextprotocol/server";
import type { Cors } from "./cors.ts";
import type { FetchHandlerOptions } from "./http-options.ts";
import { refuse } from "./refuse.ts";

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
    this.#hosts = allowedHosts === "any" ? "any" : allowedHosts.map(inHeaders);
    this.#origins = allowedOrigins === "any" ? "any" : allowedOrigins.map(inHeaders);
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

  /**
   * The refusal of a request to, or from, a name that is not allowed. It says what to change: usually it is the first request through a new
   * proxy.
   */
  refusal({ headers }: Request): Response | undefined {
    const host = headers.get("host");
    if (!this.allowsHost(host)) return forbidden(hostFault(host));
    const origin = headers.get("origin");
    if (origin === null || this.#origins === "any" || this.#cors?.allows(origin) === true) return undefined;
    const { ok } = validateOriginHeader(origin, this.#origins);
    return ok ? undefined : forbidden(originFault(origin));
  }
}

/** A host name as parsed URLs have it. */
const inHeaders = (name: string): string => name.toLowerCase();

function hostFault(host: string | null): string {
  if (host === null) return "The request has no Host header.";
  const name = hostnameOf(`http://${host}`);
  return name === ""
    ? `The Host header "${host}" is not a valid host.`
    : `Host "${name}" is not allowed: add "${name}" to the option allowedHosts.`;
}

function originFault(origin: string): string {
  const name = hostnameOf(origin);
  return name === ""
    ? `Origin "${origin}" is not allowed: it has no host name, so only allowedOrigins: "any" allows it.`
    : `Origin "${origin}" is not allowed: add "${name}" to the option allowedOrigins, or "${origin}" to cors.`;
}

function hostnameOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : "";
}

function forbidden(message: string): Response {
  return refuse(403, message, {}, -32000);
}

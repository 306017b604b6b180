import type { TimeSpan } from "../../task/time.ts";
import { listOrAny, size, tableOf, time } from "../../options/options.ts";

/** Node takes a longer timer, from 2 ** 31 ms on, for one of a millisecond. */
export const longestMs = 24 * 24 * 3_600_000;

class DeclaredNameOptions {
  /**
   * Accepted `Host` names, without port. Others get 403, which protects local servers from DNS rebinding. `any` turns the check off.
   * Default: the names of this machine, or `any` if the server listens beyond it.
   */
  readonly allowedHosts?: readonly string[] | "any" = listOrAny("host names without port", isHostName, {
    variable: "HOLDFAST_ALLOWED_HOSTS",
  });
  /** Accepted host names in `Origin`; others get 403. `any` turns the check off. Default: the names of this machine. */
  readonly allowedOrigins?: readonly string[] | "any" = listOrAny("host names without port", isHostName, {
    variable: "HOLDFAST_ALLOWED_ORIGINS",
  });
}

/** The names under which a server is reached, and those of the pages that may call it. */
export interface NameOptions extends DeclaredNameOptions {}

export const nameOptions = tableOf<NameOptions>(DeclaredNameOptions);

export class DeclaredRequestOptions extends DeclaredNameOptions {
  /** Maximum size of a request body; larger ones get 413. Default: `maxBodyBytes` of the tasks plus 64 KiB. */
  readonly maxRequestBodySize?: number = size({ min: 1, variable: "HOLDFAST_MAX_REQUEST_BODY_SIZE" });
  /** How long a client may take to send a request; slower ones get 408. Default 1 minute. */
  readonly requestTimeoutMs?: TimeSpan = time({
    min: 1,
    max: longestMs,
    default: 60_000,
    variable: "HOLDFAST_REQUEST_TIMEOUT",
  });
  /** Total size of requests that are being received. Above it, the slowest gets 503. Default 256 MiB. */
  readonly maxPendingBytes?: number = size({
    min: 1,
    default: 256 * 1024 ** 2,
    variable: "HOLDFAST_MAX_PENDING_BYTES",
  });
}

/** Limits on the body of a request, too. */
export interface RequestOptions extends DeclaredRequestOptions {}

export const requestOptions = tableOf<RequestOptions>(DeclaredRequestOptions);

/** Whether it has the form of a Host header without its port. */
function isHostName(name: string): boolean {
  const url = `http://${name}`;
  return URL.canParse(url) && new URL(url).hostname === name.toLowerCase();
}

import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import type { Cors } from "./cors.ts";
import type { FetchHandlerOptions } from "./http-options.ts";

/** The refusal of a request that is addressed to, or comes from, a name that is not served. */
export function nameRefusal(
  request: Request,
  options: FetchHandlerOptions,
  cors: Cors | undefined,
): Response | undefined {
  const { allowedHosts = localhostAllowedHostnames() } = options;
  const { allowedOrigins = localhostAllowedOrigins() } = options;
  const anyOrigin = allowedOrigins === "any" || cors?.allows(request) === true;
  return (
    (allowedHosts === "any" ? undefined : hostHeaderValidationResponse(request, [...allowedHosts])) ??
    (anyOrigin ? undefined : originValidationResponse(request, [...allowedOrigins]))
  );
}

import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import type { FetchHandlerOptions } from "./http-options.ts";

/** The refusal of a request that is addressed to, or comes from, a name that is not served. */
export function nameRefusal(request: Request, options: FetchHandlerOptions): Response | undefined {
  const { allowedHosts = localhostAllowedHostnames() } = options;
  const { allowedOrigins = localhostAllowedOrigins() } = options;
  return (
    (allowedHosts === "any" ? undefined : hostHeaderValidationResponse(request, [...allowedHosts])) ??
    (allowedOrigins === "any" ? undefined : originValidationResponse(request, [...allowedOrigins]))
  );
}

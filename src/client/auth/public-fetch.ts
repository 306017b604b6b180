import type { FetchLike } from "@modelcontextprotocol/client";
import {
  allowedAddresses,
  checkedLookup,
  refusalOfHost,
  type AllowedAddresses,
  type Resolve,
  RefusedAddress,
} from "../../runtime/allowed-addresses.ts";
import { fetchBy } from "../transport/node-fetch.ts";
import { innermost, TaskClientError } from "../task-client-error.ts";

/**
 * A fetch that reaches only addresses of the public internet and allowed ones, whatever a name resolves to. It follows no redirects. Rejects
 * with `unauthorized` for any other address.
 */
export function publicFetchWith(allowed: AllowedAddresses, resolve?: Resolve): FetchLike {
  // A connection of its own each, without proxies: one of somebody else to the same name may lead elsewhere.
  const checkedFetch = fetchBy({ lookup: checkedLookup(allowed, resolve), agent: false });
  return async (url, { body, headers, ...init } = {}) => {
    const target = new URL(url);
    const refusal = refusalOfHost(target.hostname, allowed);
    if (refusal !== undefined) throw refused(target, refusal);
    const sent = new Headers(headers);
    const isForm = body instanceof URLSearchParams;
    if (isForm && !sent.has("content-type")) sent.set("content-type", "application/x-www-form-urlencoded");
    const content = isForm ? String(body) : body;
    try {
      return await checkedFetch(target, {
        ...init,
        headers: sent,
        ...(content != null && { body: content }),
      });
    } catch (error) {
      const cause = error instanceof Error ? innermost(error) : undefined;
      throw cause instanceof RefusedAddress ? refused(target, cause.message) : error;
    }
  };
}

export const publicFetch: FetchLike = publicFetchWith(allowedAddresses([]));

function refused({ origin }: URL, reason: string): TaskClientError {
  return new TaskClientError("unauthorized", `The login may not use ${origin}: ${reason}`);
}

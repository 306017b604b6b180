import type { ServerEventData } from "../runtime/events/server-event.ts";
import { cutText } from "../task/stored-text.ts";
import { HoldfastError, jsonRpcCodeOf } from "../task/fault.ts";

type Refusal = Extract<ServerEventData, { readonly type: "request.refused" }>;

/** The owner and target of a refused request, if known. */
export interface RefusedRequest {
  readonly principal: string | null;
  readonly method?: string | undefined;
}

/** The event of a request that failed with `thrown`. It contains no more than the caller's answer. */
export function refusalOf(thrown: unknown, request: RefusedRequest): Refusal {
  const code = thrown instanceof HoldfastError ? thrown.code : "internal";
  const isPublic = thrown instanceof HoldfastError && jsonRpcCodeOf(thrown.code) !== -32603;
  return { ...refused(request), code, ...(isPublic && { message: cutText(thrown.message) }) };
}

/** What all refusals have. */
export function refused({ principal, method }: RefusedRequest): Omit<Refusal, "code"> {
  // A caller may write anything there.
  const asked = method === undefined ? {} : { method: cutText(method) };
  return { type: "request.refused", principal, ...asked };
}

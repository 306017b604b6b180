import { notRepeatableData } from "../generation/extensions.ts";
import { waitFor } from "../runtime/wait-for.ts";
import {
  isStopping,
  type FaultCode,
  HoldfastError,
  isStoreFault,
  isStoreRefusal,
  isUnreadable,
  jsonRpcCodeOf,
  storeRefused,
  storeUnavailable,
  taskUnreadable,
} from "../task/fault.ts";
import type { JsonRpcError } from "../task/outcome.ts";
import { cutOff } from "../task/unanswered.ts";
import type { ServerEventData } from "../runtime/events/server-event.ts";
import { cutText } from "../task/stored-text.ts";

/** Called with faults whose details callers must not see. */
export type OnError = (error: unknown) => void;

/** The JSON-RPC error of what a request failed with. */
export type ErrorOf = (thrown: unknown) => JsonRpcError;

/** Internal faults whose text helps the caller and reveals nothing about the server. */
const publicFaults: ReadonlySet<FaultCode> = new Set(["too_large", "stopping", "store_closed"]);

/** The missing-capability error, as the text of the extension first numbered it. */
export const legacyMissingCapability = -32003;

/** Faults become errors that callers may see; the others are reported to `onError`. */
export function errorsFor(onError: OnError, legacyErrorCodes: boolean): ErrorOf {
  return (thrown) => {
    const error = publicError(thrown);
    if (error === undefined) {
      onError(thrown);
      return { code: -32603, message: internalMessage(thrown) };
    }
    return legacyErrorCodes && error.code === -32021 ? { ...error, code: legacyMissingCapability } : error;
  };
}

function internalMessage(thrown: unknown): string {
  if (isStoreFault(thrown)) return storeUnavailable;
  if (isStoreRefusal(thrown)) return storeRefused;
  return isUnreadable(thrown) ? taskUnreadable : "Internal error";
}

function publicError(thrown: unknown): JsonRpcError | undefined {
  if (!(thrown instanceof HoldfastError)) return undefined;
  // The store of a server that stops is the last to go. A handler may have begun; where none had, the call has a key, or is none.
  const { message, data } = thrown.code === "store_closed" ? cutOff() : thrown;
  const code = jsonRpcCodeOf(thrown.code);
  if (code === -32603 && !publicFaults.has(thrown.code)) return undefined;
  return { code, message, ...(data !== undefined && { data }) };
}

/** In the SDK's words for a tool that does not exist. */
export function toolNotFound(name: string): HoldfastError {
  return new HoldfastError("invalid_params", `Tool ${name} not found`);
}

/** The fault of a call that was sent again and would run its tool a second time. */
export function notRepeatable(name: string): HoldfastError {
  const message = `Tool ${name} does not run as a task, so the server cannot tell a repeated call from a new one.`;
  return new HoldfastError("invalid_params", message, { data: notRepeatableData });
}

/**
 * Throws `error`, which ended the wait for a task. If it says that the server stops, the task continues in the next process: then this
 * waits, and rejects with the reason of the signal.
 */
export async function waitOutStop(error: unknown, signal: AbortSignal): Promise<never> {
  if (!isStopping(error)) throw error;
  return (await waitFor(() => () => undefined, signal)) as never;
}

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

import type { JsonObject } from "../generation/json-object.ts";
import type { Origin } from "../task/record.ts";
import type { Access } from "./access.ts";

/** A request that we answer, as it came in. */
export interface ToolRequest {
  readonly id: string | number;
  readonly params: JsonObject;
  /** Aborts when the caller cancels the request or goes away before it was answered. */
  readonly signal: AbortSignal;
  /** What its sender may do; left out: everything that its principal may. */
  readonly access?: Access | undefined;
}

/** What a task remembers of the request that created it. */
export function originOf(requestId: string | number, meta: JsonObject, capabilities: JsonObject): Origin {
  const { progressToken, traceparent, tracestate } = meta;
  return {
    requestId,
    capabilities,
    ...(typeof progressToken === "string" || typeof progressToken === "number" ? { progressToken } : {}),
    ...(typeof traceparent === "string"
      ? { trace: { traceparent, ...(typeof tracestate === "string" ? { tracestate } : {}) } }
      : {}),
  };
}

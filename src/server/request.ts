import type { Capabilities } from "../generation/2026-07-28/negotiate.ts";
import { isJsonObject, type JsonObject } from "../generation/json-object.ts";
import { metaOf } from "../generation/meta.ts";
import type { Origin } from "../task/record.ts";

/** What the sender of a request is allowed to do, where its token limits that. */
export interface Access {
  /** The scopes of the token. */
  readonly scopes: readonly string[];
  /** The scopes that a call of the tool needs, besides those that every request needs. */
  neededFor(tool: string): readonly string[];
}

/** Whose tasks a request is about. */
export interface Owner {
  /** Null if the server does not tell callers apart. */
  readonly principal: string | null;
  /** Left out: the principal may do everything. */
  readonly access?: Access;
}

/** Who sent a request of 2026-07-28, and what it declares. */
export interface Caller {
  /** Declared on this very request; empty if it declares none. */
  readonly capabilities: Capabilities;
  /** Null if the server does not tell callers apart, and a task's id is the only key. */
  readonly principal: string | null;
}

/** A request that we answer, as it came in. */
export interface ToolRequest {
  readonly id: string | number;
  readonly params: JsonObject;
  /** Aborts when the caller cancels the request, or disconnects before the answer. */
  readonly signal: AbortSignal;
  /** What its sender is allowed to do; left out: everything that its principal may. */
  readonly access?: Access | undefined;
}

/** Under which the sender of a request wants progress; undefined: it wants none. */
export function progressTokenOf(params: JsonObject): string | number | undefined {
  const { progressToken } = metaOf(params);
  return typeof progressToken === "string" || typeof progressToken === "number" ? progressToken : undefined;
}

/** What a task stores of the request that created it, and of the session in which that came. */
export function originOf(
  { id, params }: Pick<ToolRequest, "id" | "params">,
  capabilities: JsonObject,
  session?: string,
): Origin {
  const { traceparent, tracestate } = metaOf(params);
  const progressToken = progressTokenOf(params);
  return {
    requestId: id,
    capabilities,
    ...(progressToken !== undefined && { progressToken }),
    ...(typeof traceparent === "string" && {
      trace: { traceparent, ...(typeof tracestate === "string" && { tracestate }) },
    }),
    ...(session !== undefined && { session }),
  };
}

/** The tool that a call names; empty where the name is no string, which the SDK refuses. */
export function calledTool(params: unknown): string {
  const name = isJsonObject(params) ? params["name"] : undefined;
  return typeof name === "string" ? name : "";
}

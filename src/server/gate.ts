import type { JSONRPCRequest } from "@modelcontextprotocol/server";
import type { HoldfastError } from "../task/fault.ts";

/** Looks at a request before the SDK validates its arguments. */
export interface Gate {
  /** Whether the request is one that we answer. */
  owns(request: JSONRPCRequest): boolean;
  /** The fault to refuse it with, or undefined to let it pass. */
  refusal(request: JSONRPCRequest): HoldfastError | undefined;
}

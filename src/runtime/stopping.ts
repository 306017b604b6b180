import { HoldfastError } from "../task/fault.ts";

/** The error for calls that reach a stopping server. */
export function stopping(): HoldfastError {
  return new HoldfastError("stopping", "The server is stopping.");
}

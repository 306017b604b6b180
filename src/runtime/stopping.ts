import { HoldfastError } from "../task/fault.ts";

/** What calls are told that come to a server which is stopping. */
export function stopping(): HoldfastError {
  return new HoldfastError("stopping", "The server is stopping.");
}

import { HoldfastError } from "../../task/fault.ts";
import { messageOf } from "./sqlite-error.ts";

/** `store_unusable` with the file and the cause. An error with a code of its own stays: it is more specific. */
export function unusable(path: string, cause: unknown): HoldfastError {
  if (cause instanceof HoldfastError) return cause;
  return new HoldfastError("store_unusable", `${path} cannot be used: ${messageOf(cause)}.`, { cause });
}

import { HoldfastError } from "../../task/fault.ts";
import { messageOf } from "./sqlite-error.ts";

/** `store_unusable` with the file and the cause; what has a code of its own already says better what is wrong. */
export function unusable(path: string, cause: unknown): HoldfastError {
  if (cause instanceof HoldfastError) return cause;
  return new HoldfastError("store_unusable", `${path} cannot be used: ${messageOf(cause)}.`, { cause });
}

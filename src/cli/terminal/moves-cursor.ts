import type { Io } from "../io.ts";
import { isInForeground } from "./in-foreground.ts";

/** Whether a stream is a terminal that can move its cursor, in the foreground: no pipe, no `TERM=dumb`, and no `ACCESSIBLE`. */
export function movesCursor(stream: NodeJS.WriteStream, env: Io["env"]): boolean {
  return stream.isTTY && env["TERM"] !== "dumb" && (env["ACCESSIBLE"] ?? "") === "" && isInForeground();
}

import type { ClientEvent } from "../../client/client-events.ts";
import type { Display } from "../terminal/terminal.ts";

/** Shows from the first failure on that the server cannot be reached or fails, and when it answers again. */
export function showTrouble(event: ClientEvent, display: Pick<Display, "trouble">): void {
  const { type } = event;
  if (type === "poll_failed" || type === "call_delayed") {
    const { rpcCode } = event;
    const what = rpcCode === undefined ? "server unreachable" : `server error (${rpcCode})`;
    display.trouble(`${what}, trying again`);
  } else if (type === "poll_recovered" || type === "call_answered" || type === "task_seen") {
    display.trouble(undefined);
  }
}

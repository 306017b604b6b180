import { setTimeout as delay } from "node:timers/promises";
import type { McpServer } from "@modelcontextprotocol/server";
import { text } from "../../text.ts";

/** Ends the stream of its call before the answer; the client comes back with the last event's id and gets it. */
export function addReconnectionTool(mcp: McpServer): void {
  mcp.registerTool(
    "test_reconnection",
    { description: "Closes the stream of its call, and answers once the client reconnects" },
    async ({ http, mcpReq }) => {
      await delay(50, undefined, { signal: mcpReq.signal });
      http?.closeSSE?.();
      await delay(100, undefined, { signal: mcpReq.signal });
      return text("Reconnection test completed.");
    },
  );
}

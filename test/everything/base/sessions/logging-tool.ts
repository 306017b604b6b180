import { setTimeout as delay } from "node:timers/promises";
import type { McpServer } from "@modelcontextprotocol/server";
import { text } from "../../text.ts";

/** The client sets the lowest level that it wants by logging/setLevel, for the whole session. */
export function addLoggingTool(mcp: McpServer): void {
  mcp.registerTool(
    "test_tool_with_logging",
    { description: "Logs three messages while it works" },
    async ({ mcpReq }) => {
      await mcpReq.log("info", "Tool execution started");
      await delay(50, undefined, { signal: mcpReq.signal });
      await mcpReq.log("info", "Tool processing data");
      await delay(50, undefined, { signal: mcpReq.signal });
      await mcpReq.log("info", "Tool execution completed");
      return text("Logged three messages.");
    },
  );
}

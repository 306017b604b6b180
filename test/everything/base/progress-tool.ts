import { setTimeout as delay } from "node:timers/promises";
import type { McpServer } from "@modelcontextprotocol/server";
import { text } from "../text.ts";

/** Progress of a plain call goes out on the call's own stream, under the token that the caller sent. */
export function addProgressTool(mcp: McpServer): void {
  mcp.registerTool(
    "test_tool_with_progress",
    { description: "Reports the progress 0, 50 and 100 of 100" },
    async ({ mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        if (progress > 0) await delay(50, undefined, { signal: mcpReq.signal });
        if (progressToken !== undefined) {
          const params = { progressToken, progress, total: 100 };
          await mcpReq.notify({ method: "notifications/progress", params });
        }
      }
      return text("Progress test completed.");
    },
  );
}

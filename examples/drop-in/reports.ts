import { appendFile } from "node:fs/promises";
import { setTimeout as after } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";

const renderMs = Number(process.env["RENDER_MS"] ?? 5_000);

// The same server, with one line added.
export function makeServer(): McpServer {
  const server = new McpServer({ name: "reports", version: "1.0.0" });
  server.registerTool(
    "report",
    {
      task: "optional",
      description: "Makes the report of a month",
      inputSchema: z.object({ month: z.string() }),
      annotations: { idempotentHint: true }, // making it again does no harm
    },
    async ({ month }, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken;
      if (progressToken !== undefined) {
        const params = { progressToken, progress: 1, total: 2, message: "rendering" };
        await ctx.mcpReq.notify({ method: "notifications/progress", params });
      }
      await appendFile("renderings.txt", `${month}\n`);
      await after(renderMs); // stands for what takes minutes
      return { content: [{ type: "text", text: `https://example.com/${month}` }] };
    },
  );
  return server;
}

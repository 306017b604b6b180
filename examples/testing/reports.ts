import { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";

/** A server on the official SDK, for `durable(makeServer, { store })`. */
export function makeServer(): McpServer {
  const server = new McpServer({ name: "reports", version: "1.0.0" });
  server.registerTool(
    "report",
    {
      task: { requires: ["elicitation"] },
      description: "Makes the report of a month",
      inputSchema: z.object({ month: z.string() }),
    },
    async ({ month }, ctx) => {
      const rows = await ctx.task.step("rows", async () => [`${month}-01 42`, `${month}-02 17`]);
      const { action } = await ctx.mcpReq.elicitInput({
        message: `Report ${rows.length} rows?`,
        requestedSchema: { type: "object", properties: {} },
      });
      const text = action === "accept" ? `${rows.length} rows` : "no report";
      return { content: [{ type: "text", text }] };
    },
  );
  return server;
}

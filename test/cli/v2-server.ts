import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

// A server on SDK v2 that knows no tasks. Its log has what a terminal would obey.
console.error("\u001b[31mready\u001b[0m");
serveStdio(() => {
  const mcp = new McpServer({ name: "plain", version: "2.0.0" });
  mcp.registerTool(
    "join",
    {
      inputSchema: z.object({
        words: z.array(z.string()),
        times: z.int().optional(),
        loud: z.boolean().optional(),
      }),
    },
    async ({ words, times = 1, loud = false }) => {
      const text = words.join(" ").repeat(times);
      return { content: [{ type: "text", text: loud ? text.toUpperCase() : text }] };
    },
  );
  mcp.registerTool("colour", {}, async () => ({
    content: [{ type: "text", text: "\u001b[31mred\u001b[0m\u0007" }],
  }));
  return mcp;
});

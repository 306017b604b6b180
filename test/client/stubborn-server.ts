import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

// A server that goes on when its stdin ends, as many do.
setInterval(() => undefined, 60_000);
serveStdio(() => {
  const mcp = new McpServer({ name: "stubborn", version: "1.0.0" });
  mcp.registerTool("pid", {}, async () => ({ content: [{ type: "text", text: String(process.pid) }] }));
  return mcp;
});

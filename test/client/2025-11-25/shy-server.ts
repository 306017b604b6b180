import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";

// A server on SDK v1 that ends at once on any request before the handshake, as those of some other SDKs do.
const server = new McpServer({ name: "shy", version: "1.0.0" });
server.registerTool("greet", {}, async () => ({ content: [{ type: "text", text: "hello" }] }));
const transport = new StdioServerTransport();
await server.connect(transport);
const { onmessage } = transport;
transport.onmessage = (message, ...rest) => {
  if ("method" in message && message.method === "server/discover") process.exit(1);
  onmessage?.(message, ...rest);
};

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

// A client of the official SDK, without tasks.
const client = new Client({ name: "plain", version: "1.0.0" });
await client.connect(
  new StreamableHTTPClientTransport(new URL(process.argv[2] ?? "http://127.0.0.1:3000/mcp")),
);
const result = await client.callTool({ name: "report", arguments: { month: "2026-10" } });
console.log(result.content);
await client.close();

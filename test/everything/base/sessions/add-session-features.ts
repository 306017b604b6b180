import type { McpServer } from "@modelcontextprotocol/server";
import { addAskingTools } from "./asking-tools.ts";
import { addLoggingTool } from "./logging-tool.ts";
import { addReconnectionTool } from "./reconnection-tool.ts";
import { addWatchedResource } from "./watched-resource.ts";

/** What only protocol 2025-11-25 and earlier have: a server that can send requests to its client at any time. */
export function addSessionFeatures(mcp: McpServer): void {
  addLoggingTool(mcp);
  addAskingTools(mcp);
  addReconnectionTool(mcp);
  addWatchedResource(mcp);
}

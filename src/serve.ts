import "./runtime/require-node.ts";
export { serveTools } from "./serve/serve-tools.ts";
export type { ServedTools, ServeToolsOptions } from "./serve/serve-tools.ts";
export type { Finding, OpenSource, SourceHost, SourceTool, ToolSource } from "./serve/source.ts";
export type { Approval } from "./serve/approval.ts";
export { mcpUpstream } from "./serve/mcp/mcp-upstream.ts";
export type {
  McpUpstreamOptions,
  Repeat,
  TokenExchange,
  UpstreamToolOptions,
} from "./serve/mcp/mcp-options.ts";

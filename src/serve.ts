import "./runtime/require-node.ts";
export { serveTools } from "./serve/serve-tools.ts";
export type { ServedTools, ServeToolsOptions } from "./serve/serve-tools.ts";
export type {
  Finding,
  OpenSource,
  SourceChanges,
  SourceHost,
  SourceTool,
  ToolSource,
} from "./serve/source.ts";
export type { Approval } from "./serve/approval.ts";
export { mcpUpstream } from "./serve/mcp/mcp-upstream.ts";
export type {
  McpUpstreamOptions,
  Repeat,
  TokenExchange,
  UpstreamToolOptions,
} from "./serve/mcp/mcp-options.ts";
export { command } from "./serve/command/command.ts";
export type { CommandOptions, CommandSettings } from "./serve/command/command.ts";
export type { ArgvItem } from "./serve/command/command.ts";
export type { ToolSettings } from "./serve/tool-settings.ts";
export type { ArgumentsSchema } from "./serve/tool-settings.ts";
export { openapi } from "./serve/openapi/openapi.ts";
export type { Credential, OpenApiOptions, OperationOptions } from "./serve/openapi/openapi-options.ts";
export { http } from "./serve/http/http.ts";
export type { HttpOptions, HttpSettings, StateCondition } from "./serve/http/http.ts";
export type { Credentials, RequestTemplate } from "./serve/http/request-template.ts";

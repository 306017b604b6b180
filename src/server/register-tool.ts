import type { CallToolResult, McpServer, ServerContext } from "@modelcontextprotocol/server";
import type { Tool } from "../runtime/tool.ts";

/** Registers a tool as an author of a plain server would: the SDK lists it and validates its arguments. */
export function registerTool(
  mcp: McpServer,
  tool: Tool,
  call: (context: ServerContext) => Promise<CallToolResult>,
): void {
  const { name, inputSchema, title, description, outputSchema, annotations, icons, _meta } = tool;
  const config = {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(outputSchema !== undefined && { outputSchema }),
    ...(annotations !== undefined && { annotations }),
    ...(icons !== undefined && { icons }),
    ...(_meta !== undefined && { _meta }),
  };
  if (inputSchema === undefined) mcp.registerTool(name, config, call);
  else mcp.registerTool(name, { ...config, inputSchema }, (_args, context) => call(context));
}

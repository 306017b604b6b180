import type {
  CallToolResult,
  McpServer,
  ServerContext,
  StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import type { Tool } from "../runtime/tool/tool.ts";

/** Registers a tool as an author of a plain server would: the SDK lists it and validates its arguments. */
export function registerTool(
  mcp: McpServer,
  tool: Tool,
  call: (context: ServerContext) => Promise<CallToolResult>,
): void {
  const { name, title, description, annotations, icons, _meta } = tool;
  // The SDK's type asks for a JSON form, which the registry has seen to, as far as the SDK cannot make it.
  const inputSchema = tool.inputSchema as StandardSchemaWithJSON | undefined;
  const outputSchema = tool.outputSchema as StandardSchemaWithJSON | undefined;
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

import type { CallToolResult } from "@modelcontextprotocol/server";
import { fromJsonSchema } from "@modelcontextprotocol/server";
import type { SourceTool, ToolSource } from "holdfast/serve";

type Handler = SourceTool["handler"];

/** A source of tools with these handlers, whose arguments are texts. */
export function sourceOf(prefix: string, handlers: Readonly<Record<string, Handler>>): ToolSource {
  const inputSchema = fromJsonSchema({ type: "object", properties: { input: { type: "string" } } });
  return {
    name: prefix,
    open: async ({ setTools }) => {
      setTools(
        Object.entries(handlers).map(([name, handler]) => ({
          name: `${prefix}__${name}`,
          config: { description: `Tool ${name}`, inputSchema, onCrash: "resume" },
          handler,
        })),
      );
      return { close: async () => undefined };
    },
  };
}

export function text(value: string): CallToolResult {
  return { content: [{ type: "text", text: value }] };
}

import type { CallToolResult } from "@modelcontextprotocol/server";

/** A tool's result of one text. */
export function text(value: string): CallToolResult {
  return { content: [{ type: "text", text: value }] };
}

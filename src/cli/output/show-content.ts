import type { CallToolResult } from "@modelcontextprotocol/client";

type Block = CallToolResult["content"][number];

/** A result as text: text blocks unchanged, every other block as a line that describes it. */
export function showContent({ content, structuredContent }: CallToolResult): string {
  // Servers usually repeat a structured result as text; this one did not.
  if (content.length === 0 && structuredContent !== undefined) {
    return `${JSON.stringify(structuredContent, undefined, 2)}\n`;
  }
  return content.map((block) => withNewline(showBlock(block))).join("");
}

function showBlock(block: Block): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `[${block.type} ${block.mimeType}, ${bytesOf(block.data)} bytes]`;
    case "resource_link":
      return `[resource ${block.uri}${block.mimeType === undefined ? "" : `, ${block.mimeType}`}]`;
    case "resource": {
      const { resource } = block;
      if ("text" in resource) return resource.text;
      return `[resource ${resource.uri}, ${resource.mimeType ?? "binary"}, ${bytesOf(resource.blob)} bytes]`;
    }
  }
}

function bytesOf(base64: string): number {
  return Buffer.byteLength(base64, "base64");
}

function withNewline(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`;
}

import type { CallToolResult } from "@modelcontextprotocol/client";
import { sizeText } from "./amounts.ts";

type Block = CallToolResult["content"][number];

/** A result as text: text blocks unchanged, every other block as a line that describes it. */
export function showContent({ content, structuredContent }: CallToolResult): string {
  // Servers usually repeat a structured result as text; this one did not.
  if (content.length === 0 && structuredContent !== undefined) {
    return `${JSON.stringify(structuredContent, undefined, 2)}\n`;
  }
  return content.map((block) => withNewline(showBlock(block))).join("");
}

export function showBlock(block: Block): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `[${block.type} ${block.mimeType}, ${sizeOf(block.data)}]`;
    case "resource_link": {
      const { uri, mimeType, size } = block;
      const facts = [uri, mimeType, size === undefined ? undefined : sizeText(size)];
      return `[resource ${facts.filter((fact) => fact !== undefined).join(", ")}]`;
    }
    case "resource": {
      const { resource } = block;
      if ("text" in resource) return resource.text;
      return `[resource ${resource.uri}, ${resource.mimeType ?? "binary"}, ${sizeOf(resource.blob)}]`;
    }
  }
}

function sizeOf(base64: string): string {
  return sizeText(Buffer.byteLength(base64, "base64"));
}

export function withNewline(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`;
}

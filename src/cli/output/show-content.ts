import type { CallToolResult } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { sizeText } from "./amounts.ts";

/** A result as text: text blocks unchanged, every other block as a line that describes it. */
export function showContent({ content, structuredContent }: ShownContent): string {
  // Servers usually repeat a structured result as text; this one did not.
  if (content.length === 0 && structuredContent !== undefined) {
    return `${JSON.stringify(structuredContent, undefined, 2)}\n`;
  }
  return content.map((block) => withNewline(showBlock(block))).join("");
}

interface ShownContent extends Pick<CallToolResult, "structuredContent"> {
  readonly content: readonly unknown[];
}

/** A block of any kind, also one that is not known, or that lacks a part: servers send what they like. */
export function showBlock(block: unknown): string {
  return (isJsonObject(block) ? known(block) : undefined) ?? odd(block);
}

function known(block: JsonObject): string | undefined {
  const { type, text, data, mimeType, uri, size, resource } = block;
  switch (type) {
    case "text":
      return typeof text === "string" ? text : undefined;
    case "image":
    case "audio":
      return typeof data === "string" ? `[${facts(type, mimeType)}, ${sizeOf(data)}]` : undefined;
    case "resource_link": {
      const bytes = typeof size === "number" ? sizeText(size) : undefined;
      const shown = [uri, mimeType, bytes].filter((fact) => typeof fact === "string");
      return typeof uri === "string" ? `[resource ${shown.join(", ")}]` : undefined;
    }
    case "resource":
      return isJsonObject(resource) ? shownResource(resource) : undefined;
    default:
      return undefined;
  }
}

function shownResource({ uri, mimeType, text, blob }: JsonObject): string | undefined {
  if (typeof text === "string") return text;
  if (typeof blob !== "string" || typeof uri !== "string") return undefined;
  return `[resource ${uri}, ${typeof mimeType === "string" ? mimeType : "binary"}, ${sizeOf(blob)}]`;
}

const longest = 200;

function odd(block: unknown): string {
  const json = JSON.stringify(block) ?? "nothing";
  return `[unknown content: ${json.length > longest ? `${json.slice(0, longest)}…` : json}]`;
}

function facts(...texts: readonly unknown[]): string {
  return texts.filter((text) => typeof text === "string").join(" ");
}

function sizeOf(base64: string): string {
  return sizeText(Buffer.byteLength(base64, "base64"));
}

export function withNewline(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`;
}

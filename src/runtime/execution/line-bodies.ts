import { isSpecType, type ContentBlock } from "@modelcontextprotocol/server";
import { encodeJson } from "../../task/stored-text.ts";
import { logLevels, type LogLevel, type LogText } from "../../task/task-line.ts";

/** The stored form of a log line. Throws a TypeError for an invalid line, and `not_json`. */
export function logBody(level: LogLevel, text: string, data: unknown): string {
  const known: readonly unknown[] = logLevels;
  if (!known.includes(level)) {
    const levels = logLevels.map((each) => JSON.stringify(each)).join(", ");
    throw new TypeError(`task.log takes one of the levels ${levels}, not ${shown(level)}.`);
  }
  if (typeof text !== "string") throw new TypeError(`task.log takes a string, not ${shown(text)}.`);
  const line: LogText = { level, text, ...(data !== undefined && { data }) };
  return encodeJson(line, "A line of the log");
}

/** The stored form of output blocks. Throws a TypeError for invalid content, and `not_json`. */
export function outputBodies(content: string | ContentBlock | readonly ContentBlock[]): readonly string[] {
  if (typeof content === "string")
    return [encodeJson({ type: "text", text: content }, "A block of the output")];
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [content];
  return blocks.map((block) => {
    if (!isSpecType.ContentBlock(block)) {
      throw new TypeError(
        `task.output takes a text or content blocks, such as { type: "text", text: "…" }, not ${shown(block)}.`,
      );
    }
    return encodeJson(block, "A block of the output");
  });
}

function shown(value: unknown): string {
  if (typeof value !== "object" || value === null)
    return typeof value === "string" ? JSON.stringify(value) : String(value);
  return Array.isArray(value) ? "an array" : "an object";
}

import type { CallToolResult } from "@modelcontextprotocol/client";
import { isDeepStrictEqual } from "node:util";
import widthOf from "fast-string-truncated-width";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { sanitizeLine } from "../terminal/text.ts";
import { type Column, fittedTable, widest, wrapped, sizeText } from "./table.ts";

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

type Row = Readonly<Record<string, unknown>>;

/** A result for people. */
export interface ShownResult {
  readonly text: string;
  /** Whether the terminal was too narrow for all of it. */
  readonly isCut: boolean;
}

/**
 * A result on a terminal of this width: structured content becomes a table if it is flat enough. Texts that only repeat it as JSON are
 * left out.
 */
export function showResultFor({ content, structuredContent }: CallToolResult, columns: number): ShownResult {
  const rows = structuredContent === undefined ? undefined : rowsIn(structuredContent);
  const table = rows === undefined ? fieldsIn(structuredContent, columns) : shownRows(rows, columns);
  if (table === undefined) return { text: showContent({ content, structuredContent }), isCut: false };
  const repeated = rows === undefined ? [structuredContent] : [structuredContent, rows, ...rows];
  const others = content.filter((block: unknown) => {
    const text = isJsonObject(block) && block["type"] === "text" ? block["text"] : undefined;
    return typeof text !== "string" || !repeated.some((value) => isDeepStrictEqual(parsed(text), value));
  });
  const before = others.length === 0 ? "" : `${showContent({ content: others })}\n`;
  return { ...table, text: `${before}${table.text}` };
}

/** The rows of a list, or of an object that contains only a list, as servers wrap one in `result`. */
function rowsIn(value: unknown): readonly Row[] | undefined {
  const [only, ...others] = isJsonObject(value) ? Object.values(value) : [value];
  if (!Array.isArray(only) || only.length === 0 || others.length > 0) return undefined;
  const rows: readonly unknown[] = only;
  return rows.every((row): row is Row => isJsonObject(row) && isFlat(row)) ? rows : undefined;
}

function isFlat(row: JsonObject): boolean {
  const values = Object.values(row);
  return values.length > 0 && values.every((value) => cell(value) !== undefined);
}

/** The text of a primitive value, or of a list of them. */
function cell(value: unknown): string | undefined {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (typeof value !== "object") return JSON.stringify(value);
  if (!Array.isArray(value) || value.some((item) => typeof item === "object" && item !== null))
    return undefined;
  return value.map((item) => cell(item) ?? "").join(", ");
}

/** A table or, if the terminal is too narrow for its columns, the fields of each row. */
function shownRows(rows: readonly Row[], columns: number): ShownResult {
  const text = rowTable(rows, columns);
  if (widest(text.split("\n")) < columns)
    return { text, isCut: text !== rowTable(rows, Number.POSITIVE_INFINITY) };
  return { text: rows.map((row) => fieldLines(row, columns)).join("\n"), isCut: false };
}

function rowTable(rows: readonly Row[], columns: number): string {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const columnOf = (key: string): Column<Row> => {
    const values = rows.map((row) => ownValue(row, key)).filter((value) => value != null);
    const isNumber = values.length > 0 && values.every((value) => typeof value === "number");
    return [sanitizeLine(key), 4, (row) => cell(ownValue(row, key)), isNumber ? "right" : "left"];
  };
  return fittedTable(keys.map(columnOf), rows, columns);
}

/** A key is foreign, and may be that of a member that every object inherits. */
function ownValue(row: Row, key: string): unknown {
  return Object.hasOwn(row, key) ? row[key] : undefined;
}

/** One line for each key of a flat object; undefined for others, and for a value that a server wrapped in `result`. */
function fieldsIn(value: unknown, columns: number): ShownResult | undefined {
  if (!isJsonObject(value) || !isFlat(value)) return undefined;
  if (Object.keys(value).every((key) => key === "result")) return undefined;
  return { text: fieldLines(value, columns), isCut: false };
}

function fieldLines(row: Row, columns: number): string {
  const fields = Object.entries(row).map(([key, field]) => [sanitizeLine(key), cell(field) ?? ""] as const);
  const indent = 2 + Math.min(widest(fields.map(([key]) => key)), Math.floor(columns / 2));
  const lines = fields.map(([key, text]) => {
    const rest = wrapped(text, indent, columns);
    const room = indent - widthOf(key).width;
    return room >= 2
      ? `${`${key}${" ".repeat(room)}${rest.slice(indent)}`.trimEnd()}\n`
      : `${key}\n${rest}\n`;
  });
  return lines.join("");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

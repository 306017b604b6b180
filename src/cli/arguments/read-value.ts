import type { JsonObject } from "../../generation/message.ts";
import { UsageError } from "../errors.ts";
import { losesDigits, parseExactJson, tooLong } from "./exact-json.ts";
import { describeType, follow, typesOf } from "./input-schema.ts";

/** The value of a text by a schema, or why there is none. */
export type ReadValue =
  { readonly kind: "value"; readonly value: unknown } | { readonly kind: "problem"; readonly text: string };

/**
 * Converts `text` to the schema's type; without a type it stays text. `within` has the enclosing lists, to stop at
 * cycles.
 */
export function readValue(
  text: string,
  schema: JsonObject,
  root: JsonObject,
  within: readonly JsonObject[] = [],
): ReadValue {
  const { enum: choices } = schema;
  const types = typesOf(schema, root);
  const value = within.includes(schema) ? undefined : ofTypes(text, types, schema, root, within);
  if (value === undefined) {
    if (losesDigits(text) && (types.has("number") || types.has("integer")))
      return problem(`takes a number, and ${tooLong(text)}`);
    const hint = types.has("object") || types.has("array") ? "; write it as JSON with :=" : "";
    return problem(`has to be ${describeType(schema, root)}, not ${quoted(text)}${hint}`);
  }
  if (Array.isArray(choices) && !choices.includes(value.value)) {
    return problem(`has to be one of ${describeType(schema, root)}, not ${quoted(text)}`);
  }
  return { kind: "value", value: value.value };
}

/** Shows a value in an error; it can be a whole file. */
export function quoted(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length <= longestQuoted ? text : `${text.slice(0, longestQuoted).toWellFormed()}…`;
}

const longestQuoted = 200;

function problem(text: string): ReadValue {
  return { kind: "problem", text };
}

function ofTypes(
  text: string,
  types: ReadonlySet<string>,
  schema: JsonObject,
  root: JsonObject,
  within: readonly JsonObject[],
): { readonly value: unknown } | undefined {
  if (types.size === 0) return { value: text };
  if (types.has("null") && text === "null") return { value: null };
  if (types.has("boolean") && (text === "true" || text === "false")) return { value: text === "true" };
  const isNumeral =
    /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) && Number.isFinite(Number(text)) && !losesDigits(text);
  if (isNumeral && types.has("number")) return { value: Number(text) };
  if (isNumeral && types.has("integer") && Number.isInteger(Number(text))) return { value: Number(text) };
  if (types.has("string")) return { value: text };
  if (types.has("array")) {
    const whole = parsed(text);
    if (Array.isArray(whole)) return { value: whole };
    const item = readValue(text, follow(schema["items"], root), root, [...within, schema]);
    return item.kind === "value" ? { value: [item.value] } : undefined;
  }
  const whole = types.has("object") ? parsed(text) : undefined;
  return typeof whole === "object" && whole !== null && !Array.isArray(whole) ? { value: whole } : undefined;
}

function parsed(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    return undefined;
  }
}

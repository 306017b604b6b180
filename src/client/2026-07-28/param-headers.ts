import { isJsonObject, type JsonObject } from "../../generation/message.ts";

/** A tool's argument that is repeated in a header, so that proxies can route by it. */
export interface ParamHeader {
  readonly header: string;
  /** The path of property names to the argument. */
  readonly path: readonly string[];
}

/** A token of RFC 9110. */
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const annotation = "x-mcp-header";
const types: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);
/** Keywords with subschemas that apply conditionally, or to an unknown number of values. */
const otherSubschemas = [
  "items",
  "prefixItems",
  "contains",
  "additionalProperties",
  "unevaluatedProperties",
  "unevaluatedItems",
  "propertyNames",
  "patternProperties",
  "dependentSchemas",
  "oneOf",
  "anyOf",
  "allOf",
  "not",
  "if",
  "then",
  "else",
  "$defs",
  "definitions",
];
const namedSubschemas: ReadonlySet<string> = new Set([
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
]);

/**
 * The arguments that an input schema wants repeated in headers; undefined if an annotation is invalid, which makes
 * the tool invalid. Only primitives that are reached by `properties` alone may have one, and names are unique.
 */
export function readParamHeaders(inputSchema: unknown): readonly ParamHeader[] | undefined {
  const found: ParamHeader[] = [];
  const isValid = collect(inputSchema, [], found);
  const names = new Set(found.map(({ header }) => header.toLowerCase()));
  return isValid && names.size === found.length ? found : undefined;
}

function collect(schema: unknown, path: readonly string[], found: ParamHeader[]): boolean {
  if (!isJsonObject(schema)) return true;
  if (Object.hasOwn(schema, annotation)) {
    const header = schema[annotation];
    if (path.length === 0 || typeof header !== "string" || !headerName.test(header)) return false;
    if (!types.has(schema["type"])) return false;
    found.push({ header, path });
  }
  const { properties } = schema;
  const own = isJsonObject(properties) ? Object.entries(properties) : [];
  return own.every(([name, child]) => collect(child, [...path, name], found)) && hasNoneElsewhere(schema);
}

function hasNoneElsewhere(schema: JsonObject): boolean {
  return otherSubschemas.every((keyword) => {
    const value = schema[keyword];
    const isMap = namedSubschemas.has(keyword) && isJsonObject(value);
    const subschemas: readonly unknown[] = Array.isArray(value)
      ? value
      : isMap
        ? Object.values(value)
        : [value];
    return subschemas.every(hasNone);
  });
}

function hasNone(schema: unknown): boolean {
  if (!isJsonObject(schema)) return true;
  const { properties } = schema;
  const own = isJsonObject(properties) ? Object.values(properties) : [];
  return !Object.hasOwn(schema, annotation) && own.every(hasNone) && hasNoneElsewhere(schema);
}

/** The headers of a call. Arguments that are missing, `null` or not primitive have none. */
export function paramHeaders(wanted: readonly ParamHeader[], args: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { header, path } of wanted) {
    const text = textOf(valueAt(args, path));
    if (text !== undefined) headers[`Mcp-Param-${header}`] = encodeFieldValue(text);
  }
  return headers;
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const name of path)
    value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  // A larger integer may have lost digits when it was parsed.
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}

/** Encodes text that a header cannot hold, or that looks encoded already, as Base64 of its UTF-8. */
function encodeFieldValue(text: string): string {
  const isPlain = /^[\t\x20-\x7e]+$/.test(text) && text === text.trim();
  if (isPlain && !(text.startsWith("=?base64?") && text.endsWith("?="))) return text;
  return `=?base64?${Buffer.from(text, "utf8").toString("base64")}?=`;
}

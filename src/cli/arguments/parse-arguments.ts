import { isUtf8 } from "node:buffer";
import { UsageError } from "../errors.ts";
import type { JsonObject } from "../../generation/message.ts";
import { parseExactJson } from "./exact-json.ts";
import { didYouMean } from "./nearest.ts";
import { base64In, describeType, fits, typesOf, type InputSchema } from "./input-schema.ts";
import type { FileContent, Pair } from "./read-pairs.ts";
import { quoted, readValue } from "./read-value.ts";

/**
 * Adds the arguments in `pairs` to `given`. The schema decides the type of each value; a repeated key makes a list.
 * Throws a UsageError that names the key.
 */
export function parseArguments(pairs: readonly Pair[], schema: InputSchema, given: JsonObject): JsonObject {
  const found = new Map<string, unknown>();
  for (const pair of pairs) {
    const { key } = pair;
    const value = readPairValue(pair, schema);
    found.set(key, found.has(key) ? repeated(key, found.get(key), value, schema) : value);
  }
  return { ...given, ...Object.fromEntries(found) };
}

/**
 * Adds the defaults of missing required arguments. Throws a UsageError for arguments that are still missing,
 * unknown, or of another type.
 */
export function completeArguments(given: JsonObject, schema: InputSchema): JsonObject {
  const { properties, required, root } = schema;
  const args = { ...given };
  for (const key of required) {
    const fallback = properties.get(key)?.["default"];
    if (!Object.hasOwn(args, key) && fallback !== undefined) args[key] = fallback;
  }
  const missing = required.filter((key) => !Object.hasOwn(args, key));
  if (missing.length > 0)
    throw new UsageError(`Missing: ${missing.join(", ")}. ${describeArguments(schema)}`);
  for (const [key, value] of Object.entries(args)) {
    const known = properties.get(key);
    // A schema without properties may be incomplete; --args passes any keys.
    if (known === undefined && schema.isClosed && properties.size > 0) throw unknownKey(key, schema);
    if (known !== undefined && !fits(value, known, root))
      throw new UsageError(`${key} has to be ${describeType(known, root)}, not ${quoted(value)}.`);
  }
  return args;
}

function unknownKey(key: string, schema: InputSchema): UsageError {
  const meant = didYouMean(key, schema.properties.keys());
  return new UsageError(`There is no argument ${JSON.stringify(key)}. ${meant}${describeArguments(schema)}`);
}

function readPairValue({ key, value, isJson }: Pair, schema: InputSchema): unknown {
  if (typeof value === "string") return isJson ? parseJson(value, key) : readText(key, value, schema);
  if (isJson) return parseJson(textOf(value, key), key);
  const encoding = base64In(schema.properties.get(key) ?? {}, schema.root);
  return readText(key, encoding === undefined ? textOf(value, key) : value.bytes.toString(encoding), schema);
}

function textOf({ path, bytes }: FileContent, key: string): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  throw new UsageError(
    `${key}: ${path} is not UTF-8 text, and the schema does not say that ${key} is base64. If it is, give ${key}="$(base64 -w0 FILE)".`,
  );
}

function parseJson(text: string, key: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(`${key}: ${error.message}`);
    throw new UsageError(`${key}:= takes JSON, which ${quoted(text)} is not; for text, write ${key}=…`);
  }
}

function readText(key: string, text: string, schema: InputSchema): unknown {
  const known = schema.properties.get(key);
  if (known === undefined && schema.isClosed) throw unknownKey(key, schema);
  const read = readValue(text, known ?? {}, schema.root);
  if (read.kind === "problem") throw new UsageError(`${key} ${read.text}.`);
  return read.value;
}

function repeated(key: string, first: unknown, next: unknown, schema: InputSchema): unknown {
  const types = typesOf(schema.properties.get(key) ?? {}, schema.root);
  if (types.size > 0 && !types.has("array"))
    throw new UsageError(`${key} is given twice, but takes one value.`);
  const list: unknown[] = Array.isArray(first) ? first : [first];
  return list.concat(next);
}

/** Such as `It takes seconds (number, required) and label (string).` */
function describeArguments({ properties, required, root }: InputSchema): string {
  if (properties.size === 0) return "It takes no arguments.";
  const each = [...properties].map(([key, schema]) => {
    const type = describeType(schema, root);
    return `${key} (${required.includes(key) ? `${type}, required` : type})`;
  });
  return `It takes ${each.join(", ")}.`;
}

import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { UsageError } from "../errors.ts";
import { follow, readInputSchema, typesOf, type InputSchema } from "./input-schema.ts";
import { parseArguments } from "./parse-arguments.ts";
import { withoutFile, type Pair } from "./read-pairs.ts";

/** The maximum depth of lists and objects in an example. */
const maxDepth = 5;

/** Arguments that fit a tool's schema, as words: the required ones, or the first one if none is required. */
export function exampleArguments(inputSchema: JsonObject): readonly string[] {
  const schema = readInputSchema(inputSchema);
  const { properties, required, root } = schema;
  const named = required.filter((key) => properties.has(key));
  const wanted = named.length > 0 ? named : [...properties.keys()].slice(0, 1);
  return wanted.flatMap((key) => wordsOf(key, exampleValue(properties.get(key) ?? {}, root, key), schema));
}

/** `key=value`, repeated for each item of a list, if that is read as the same value; otherwise JSON. */
function wordsOf(key: string, value: unknown, schema: InputSchema): readonly string[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  const pairs = items.map((item) => ({ key, isJson: false, value: String(item) }));
  if (!isReadAs(value, key, pairs, schema)) return [`${key}:=${JSON.stringify(value)}`];
  return pairs.map((pair) => `${key}=${withoutFile(pair.value)}`);
}

function isReadAs(value: unknown, key: string, pairs: readonly Pair[], schema: InputSchema): boolean {
  try {
    return isDeepStrictEqual(parseArguments(pairs, schema, {})[key], value);
  } catch (error) {
    if (error instanceof UsageError) return false;
    throw error;
  }
}

/** A value that the schema allows: one that it lists, or the simplest of its type. */
function exampleValue(schema: JsonObject, root: JsonObject, key: string, depth = 0): unknown {
  const { const: only, default: usual, examples, enum: values, anyOf, oneOf, allOf } = schema;
  if (only !== undefined) return only;
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  if (usual !== undefined && usual !== null) return usual;
  if (Array.isArray(values) && values.length > 0) return values[0];
  const types = typesOf(schema, root);
  if (types.has("string")) return exampleText(schema, key);
  if (types.has("integer") || types.has("number")) return exampleNumber(schema);
  if (types.has("boolean")) return true;
  const choice = [anyOf, oneOf, allOf].find((choices) => Array.isArray(choices) && choices.length > 0);
  if (Array.isArray(choice) && depth < maxDepth)
    return exampleValue(follow(choice[0], root), root, key, depth + 1);
  if (types.has("array")) {
    const item = follow(schema["items"], root);
    return depth < maxDepth ? [exampleValue(item, root, key, depth + 1)] : [];
  }
  if (types.has("object")) return exampleObject(schema, root, depth);
  return types.has("null") ? null : "...";
}

function exampleObject(schema: JsonObject, root: JsonObject, depth: number): JsonObject {
  const { properties, required } = schema;
  if (!isJsonObject(properties) || !Array.isArray(required) || depth >= maxDepth) return {};
  const keys = required.filter((key) => typeof key === "string" && Object.hasOwn(properties, key));
  return Object.fromEntries(
    keys.map((key: string) => [key, exampleValue(follow(properties[key], root), root, key, depth + 1)]),
  );
}

const texts: ReadonlyMap<unknown, string> = new Map(
  Object.entries({
    date: "2026-11-23",
    "date-time": "2026-11-23T12:00:00Z",
    time: "12:00:00Z",
    email: "ann@example.com",
    uri: "https://example.com/",
    url: "https://example.com/",
    uuid: "123e4567-e89b-42d3-a456-426614174000",
    hostname: "example.com",
    ipv4: "192.0.2.1",
    ipv6: "2001:db8::1",
  }),
);

/** Text of unknown form becomes three dots, to be filled in. */
function exampleText({ format, minLength }: JsonObject, key: string): string {
  const known = texts.get(format);
  if (known !== undefined) return known;
  const text = /name$/i.test(key) ? "Ada" : "...";
  return typeof minLength === "number" && minLength > text.length && minLength <= 100
    ? text.padEnd(minLength, ".")
    : text;
}

function exampleNumber(schema: JsonObject): number {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const step = typeof multipleOf === "number" && multipleOf > 0 ? multipleOf : 1;
  if (typeof minimum === "number") return Math.ceil(minimum / step) * step;
  if (typeof exclusiveMinimum === "number") return (Math.floor(exclusiveMinimum / step) + 1) * step;
  if (typeof maximum === "number" && maximum < step) return Math.floor(maximum / step) * step;
  if (typeof exclusiveMaximum === "number" && exclusiveMaximum <= step) {
    return (Math.ceil(exclusiveMaximum / step) - 1) * step;
  }
  return step;
}

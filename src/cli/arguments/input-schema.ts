import { isJsonObject, type JsonObject } from "../../generation/message.ts";

/** The parts of a tool's `inputSchema` that the command line uses. */
export interface InputSchema {
  /** By key, with local references followed. */
  readonly properties: ReadonlyMap<string, JsonObject>;
  readonly required: readonly string[];
  /** Whether to refuse unknown keys: the schema forbids them, or they are probably a typo. */
  readonly isClosed: boolean;
  readonly root: JsonObject;
}

/** Keywords other than `properties` that can allow keys. */
const otherPlaces = [
  "$ref",
  "allOf",
  "anyOf",
  "oneOf",
  "if",
  "then",
  "else",
  "patternProperties",
  "dependentSchemas",
];

export function readInputSchema(root: JsonObject): InputSchema {
  const { properties, required, additionalProperties } = root;
  const found = isJsonObject(properties) ? Object.entries(properties) : [];
  return {
    properties: new Map(found.map(([key, schema]) => [key, follow(schema, root)])),
    required: Array.isArray(required) ? required.filter((key) => typeof key === "string") : [],
    // By default JSON Schema allows other keys, but no tool reads them.
    isClosed:
      !otherPlaces.some((place) => place in root) &&
      (additionalProperties === undefined || additionalProperties === false),
    root,
  };
}

const maxReferences = 10;

/** The target of a local `$ref`; an empty schema if it cannot be resolved. */
export function follow(schema: unknown, root: JsonObject): JsonObject {
  let at: unknown = schema;
  for (let steps = 0; steps < maxReferences; steps++) {
    if (!isJsonObject(at)) return {};
    const { $ref } = at;
    if (typeof $ref !== "string") return at;
    if (!$ref.startsWith("#/")) return {};
    at = $ref
      .slice(2)
      .split("/")
      .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
      .reduce<unknown>(
        (value, part) => (isJsonObject(value) && Object.hasOwn(value, part) ? value[part] : undefined),
        root,
      );
  }
  return {};
}

/**
 * The types that a schema allows; empty if it does not say. `within` has the enclosing schemas, to stop at cycles.
 */
export function typesOf(
  schema: JsonObject,
  root: JsonObject,
  within: readonly JsonObject[] = [],
): ReadonlySet<string> {
  if (within.includes(schema)) return new Set();
  const { type, enum: values, const: only, anyOf, oneOf } = schema;
  if (typeof type === "string") return new Set([type]);
  if (Array.isArray(type)) return new Set(type.filter((name) => typeof name === "string"));
  if (Array.isArray(values)) return new Set(values.map(typeOf));
  if (only !== undefined) return new Set([typeOf(only)]);
  const choices = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : [];
  const each = choices.map((choice) => typesOf(follow(choice, root), root, [...within, schema]));
  return each.some((types) => types.size === 0) ? new Set() : new Set(each.flatMap((types) => [...types]));
}

/** How a file's bytes are encoded as text, if the schema says so for the value, one of its choices or a list's items. */
export function base64In(schema: JsonObject, root: JsonObject): "base64" | "base64url" | undefined {
  const { anyOf, oneOf, items } = schema;
  const choices: readonly unknown[] = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : [];
  for (const part of [schema, items, ...choices]) {
    const { contentEncoding, format } = follow(part, root);
    // `byte` is OpenAPI's name for it.
    const encoding = contentEncoding ?? (format === "byte" ? "base64" : format);
    if (encoding === "base64" || encoding === "base64url") return encoding;
  }
  return undefined;
}

/** Whether a value fits the schema's types and enum. */
export function fits(value: unknown, schema: JsonObject, root: JsonObject): boolean {
  const { enum: values } = schema;
  if (Array.isArray(values) && (value === null || typeof value !== "object") && !values.includes(value)) {
    return false;
  }
  const types = typesOf(schema, root);
  if (types.size === 0 || types.has(typeOf(value))) return true;
  return types.has("integer") && Number.isInteger(value);
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value;
}

/**
 * Describes the types to a user, such as `number` or `a|b|c`. `within` has the enclosing lists, to stop at cycles.
 */
export function describeType(
  schema: JsonObject,
  root: JsonObject,
  within: readonly JsonObject[] = [],
): string {
  const { enum: values, items } = schema;
  if (Array.isArray(values))
    return values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join("|");
  const types = [...typesOf(schema, root)];
  if (types.length === 1 && types[0] === "array") {
    const item = follow(items, root);
    const lists = [...within, schema];
    const inner = lists.includes(item) ? "any" : describeType(item, root, lists);
    return inner === "any" ? "list" : `list of ${inner}`;
  }
  return types.join(" or ") || "any";
}

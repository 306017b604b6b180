import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { OpenApiDocument } from "./document.ts";

/** Members of a schema whose values are schemas, lists of them, or schemas by name. */
const single = new Set([
  "items",
  "additionalProperties",
  "not",
  "if",
  "then",
  "else",
  "contains",
  "propertyNames",
  "unevaluatedProperties",
  "unevaluatedItems",
  "additionalItems",
]);
const several = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const named = new Set(["properties", "patternProperties", "$defs", "dependentSchemas"]);

/** What only a document has, and no JSON Schema. */
const ofDocuments = new Set(["discriminator", "xml", "externalDocs", "example", "nullable"]);

/**
 * Schemas of a document as JSON Schema. What they refer to, anywhere in it, which may refer to itself, becomes `$defs`. Fields that a service only
 * answers with (`readOnly`) are left out.
 */
export class Schemas {
  readonly #document: OpenApiDocument;
  readonly #is30: boolean;
  /** What was referred to, by its name in `$defs`. */
  readonly #used = new Map<string, unknown>();
  /** Those names, by what refers to them. */
  readonly #names = new Map<string, string>();

  constructor(document: OpenApiDocument) {
    this.#document = document;
    this.#is30 = document.is30;
  }

  /** What was referred to by the schemas so far. */
  get definitions(): JsonObject {
    return Object.fromEntries(this.#used);
  }

  of(schema: unknown): unknown {
    if (!isJsonObject(schema)) return schema === false ? false : {};
    const { $ref: ref } = schema;
    if (typeof ref === "string") return this.#reference(ref, schema);
    const found: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(schema)) {
      if (ofDocuments.has(name) || name.startsWith("x-")) continue;
      if (single.has(name)) found[name] = typeof value === "boolean" ? value : this.of(value);
      else if (several.has(name) && Array.isArray(value)) found[name] = value.map((each) => this.of(each));
      else if (named.has(name) && isJsonObject(value)) found[name] = this.#byName(value);
      else found[name] = value;
    }
    const { required, properties } = found;
    if (Array.isArray(required) && isJsonObject(properties))
      found["required"] = required.filter((name) => !this.#isAnswerOnly(schema, String(name)));
    return this.#is30 ? as31(schema, found) : found;
  }

  #reference(ref: string, { description }: JsonObject): JsonObject {
    let name = this.#names.get(ref);
    if (name === undefined) {
      name = this.#freeName(ref);
      this.#names.set(ref, name);
      this.#used.set(name, {}); // it may refer to itself
      this.#used.set(name, this.of(this.#document.resolve({ $ref: ref })));
    }
    return { $ref: `#/$defs/${name}`, ...(typeof description === "string" && { description }) };
  }

  /** After its last part; one of another place may have the same. */
  #freeName(ref: string): string {
    const last = ref.slice(ref.lastIndexOf("/") + 1).replaceAll(/[^\w.-]/gu, "_");
    let name = last;
    for (let count = 2; this.#used.has(name); count++) name = `${last}_${count}`;
    return name;
  }

  #byName(schemas: JsonObject): JsonObject {
    const kept = Object.entries(schemas).filter(
      ([, schema]) => !isAnswerOnly(this.#document.resolve(schema)),
    );
    return Object.fromEntries(kept.map(([name, schema]) => [name, this.of(schema)]));
  }

  #isAnswerOnly({ properties }: JsonObject, name: string): boolean {
    return isJsonObject(properties) && isAnswerOnly(this.#document.resolve(properties[name]));
  }
}

function isAnswerOnly(schema: unknown): boolean {
  return isJsonObject(schema) && schema["readOnly"] === true;
}

/** OpenAPI 3.0 has its own words for a few things. */
function as31(given: JsonObject, schema: Record<string, unknown>): JsonObject {
  for (const [bound, limit] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    if (typeof schema[bound] !== "boolean") continue;
    if (schema[bound] && schema[limit] !== undefined) {
      schema[bound] = schema[limit];
      delete schema[limit];
    } else delete schema[bound];
  }
  if (given["nullable"] !== true) return schema;
  const { type } = schema;
  const values: unknown = schema["enum"];
  if (typeof type === "string") schema["type"] = [type, "null"];
  if (Array.isArray(values) && !values.includes(null))
    schema["enum"] = [...(values as readonly unknown[]), null];
  return type === undefined && values === undefined ? { anyOf: [schema, { type: "null" }] } : schema;
}

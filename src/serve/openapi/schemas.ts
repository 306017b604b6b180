import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { OpenApiDocument } from "./document.ts";

const component = "#/components/schemas/";

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
 * Schemas of a document as JSON Schema. Components that they refer to, which may refer to themselves, become `$defs`. Fields that a service only
 * answers with (`readOnly`) are left out.
 */
export class Schemas {
  readonly #document: OpenApiDocument;
  readonly #is30: boolean;
  /** The components that were referred to, by name. */
  readonly #used = new Map<string, unknown>();

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
    const name = ref.startsWith(component) ? ref.slice(component.length) : undefined;
    const said = typeof description === "string" ? { description } : {};
    if (name === undefined)
      return { ...(this.of(this.#document.resolve({ $ref: ref })) as JsonObject), ...said };
    if (!this.#used.has(name)) {
      this.#used.set(name, {}); // it may refer to itself
      this.#used.set(name, this.of(this.#document.resolve({ $ref: ref })));
    }
    return { $ref: `#/$defs/${name}`, ...said };
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

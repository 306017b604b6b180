import { readFile } from "node:fs/promises";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { Sender } from "../http/send.ts";

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

/** The largest document that is read, in bytes. */
const maxBytes = 32 * 1024 ** 2;
const loadMs = 30_000;

/** An OpenAPI document, of 3.0 or 3.1. */
export class OpenApiDocument {
  readonly root: JsonObject;
  readonly is30: boolean;
  /** Where it came from, if from an address. */
  readonly url: string | undefined;

  constructor(what: string, root: unknown, url?: string) {
    if (!isJsonObject(root)) throw notOne(what, "it is no object");
    const { openapi: version } = root;
    if (root["swagger"] !== undefined)
      throw notOne(what, "it is of Swagger 2.0, which has to be converted to OpenAPI 3 first");
    if (typeof version !== "string" || !/^3\.[01]\./u.test(version))
      throw notOne(what, `its member "openapi" is ${JSON.stringify(version)}, not 3.0 or 3.1`);
    this.root = root;
    this.is30 = version.startsWith("3.0");
    this.url = url;
  }

  /** What a reference refers to, within the document; anything else is itself. Throws for a reference to nothing. */
  resolve(value: unknown): unknown {
    let at = value;
    for (let depth = 0; isJsonObject(at) && typeof at["$ref"] === "string"; depth++) {
      const ref = at["$ref"];
      if (!ref.startsWith("#/")) throw new Error(`it refers to ${ref}, which is outside of the document`);
      if (depth > 100) throw new Error(`${ref} refers to itself`);
      at = this.#at(ref);
      if (at === undefined) throw new Error(`it refers to ${ref}, which does not exist`);
    }
    return at;
  }

  object(value: unknown): JsonObject {
    const found = this.resolve(value);
    return isJsonObject(found) ? found : {};
  }

  #at(ref: string): unknown {
    const path = ref.slice(2).split("/");
    return path.reduce<unknown>((at, step) => {
      const name = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
      const inside = Array.isArray(at) || isJsonObject(at) ? (at as Readonly<Record<string, unknown>>) : {};
      return Object.hasOwn(inside, name) ? inside[name] : undefined;
    }, this.root);
  }
}

/** Reads a document: one that was parsed already, or the path or address of one in JSON or YAML. Rejects with `configuration`. */
export async function loadDocument(
  what: string,
  given: string | Readonly<Record<string, unknown>>,
  sender: Sender,
): Promise<OpenApiDocument> {
  if (typeof given !== "string") return new OpenApiDocument(what, given);
  const isAddress = /^https?:\/\//iu.test(given);
  let text: string;
  try {
    text = isAddress ? await download(given, sender) : await readFile(given, "utf8");
  } catch (cause) {
    throw notOne(what, cause instanceof Error ? cause.message : String(cause), cause);
  }
  return new OpenApiDocument(what, await parse(what, text), isAddress ? given : undefined);
}

async function download(url: string, sender: Sender): Promise<string> {
  const request = { method: "GET", url, headers: { accept: "application/json, application/yaml" } };
  const { status, text, isLarge } = await sender.send(request, {
    maxBytes,
    signal: new AbortController().signal,
    timeoutMs: loadMs,
  });
  if (isLarge === true) throw new Error(`it has more than ${maxBytes} bytes`);
  if (status !== 200 || text === undefined) throw new Error(`${url} was answered with HTTP ${status}`);
  return text;
}

async function parse(what: string, text: string): Promise<unknown> {
  try {
    if (text.trimStart().startsWith("{")) return JSON.parse(text);
    const { parse: parseYaml } = await import("yaml");
    return parseYaml(text);
  } catch (cause) {
    throw notOne(what, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function notOne(what: string, why: string, cause?: unknown): HoldfastError {
  const message = `${what}: the OpenAPI document cannot be used: ${why}.`;
  return new HoldfastError("configuration", message, { cause });
}

import {
  fromJsonSchema,
  McpServer,
  type StandardSchemaV1,
  type StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import { HoldfastError } from "../../task/fault.ts";

type JsonFields = Readonly<Record<string, unknown>>;

/** Whether it is an object of JSON. */
export function isFields(value: unknown): value is JsonFields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A schema's issues with a value, in one line. */
export function describeIssues(issues: readonly StandardSchemaV1.Issue[]): string {
  return issues
    .map(({ path, message }) => {
      const at = path
        ?.map((segment) => String(typeof segment === "object" ? segment.key : segment))
        .join(".");
      return at === undefined || at === "" ? message : `${at}: ${message}`;
    })
    .join(", ");
}

/** A schema by its fields, of zod 4: `{ month: z.string() }` stands for `z.object({ month: z.string() })`, as in the SDK. */
export type Shape = Readonly<Record<string, StandardSchemaV1>>;

/** The schema of a tool's arguments or structured content: a Standard Schema with a JSON form, or its fields. */
export type ToolSchema = StandardSchemaV1 | Shape;

type Side = "input" | "output";

type ValueOf<Field extends StandardSchemaV1, Of extends Side> = Of extends "input"
  ? StandardSchemaV1.InferInput<Field>
  : StandardSchemaV1.InferOutput<Field>;

type OptionalFields<Fields extends Shape, Of extends Side> = {
  [Name in keyof Fields]: undefined extends ValueOf<Fields[Name], Of> ? Name : never;
}[keyof Fields];

/** The object that has these fields, before or after their defaults and transforms apply. */
export type ObjectOf<Fields extends Shape, Of extends Side> = {
  -readonly [Name in Exclude<keyof Fields, OptionalFields<Fields, Of>>]: ValueOf<Fields[Name], Of>;
} & { -readonly [Name in OptionalFields<Fields, Of>]?: ValueOf<Fields[Name], Of> };

/** The arguments as the handler gets them: validated, with the schema's defaults and transforms applied. */
export type ToolArguments<Input> = Input extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Input>
  : Input extends Shape
    ? ObjectOf<Input, "output">
    : Record<string, unknown>;

/** The arguments as a caller passes them, before the schema's defaults and transforms apply. */
export type ToolInput<Input> = Input extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<Input>
  : Input extends Shape
    ? ObjectOf<Input, "input">
    : Record<string, unknown>;

/** The structured content as a handler returns it. The schema checks it and does not change it. */
export type StructuredContent<Output> = Output extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<Output>
  : Output extends Shape
    ? ObjectOf<Output, "input">
    : unknown;

export function isSchema(given: unknown): given is StandardSchemaV1 {
  const kind = typeof given;
  return (kind === "object" || kind === "function") && given !== null && "~standard" in (given as object);
}

export function isShape(given: unknown): given is Shape {
  if (typeof given !== "object" || given === null || isSchema(given)) return false;
  const prototype: unknown = Object.getPrototypeOf(given);
  return (prototype === Object.prototype || prototype === null) && Object.values(given).every(isSchema);
}

/** By shape: an update of a tool is not to change the schemas that it leaves alone. */
const schemas = new WeakMap<Shape, StandardSchemaV1>();

/** The schema of an object with these fields, as the SDK makes it. Throws `configuration` for fields that it does not take. */
export function objectSchema(tool: string, schema: ToolSchema): StandardSchemaV1 {
  if (isSchema(schema)) return schema;
  const made = schemas.get(schema) ?? fromShape(tool, schema);
  schemas.set(schema, made);
  return made;
}

function fromShape(tool: string, shape: Shape): StandardSchemaV1 {
  try {
    const mcp = new McpServer({ name: "holdfast", version: "0" });
    // Its type for fields is zod's, which our users need not have.
    const fields: unknown = shape;
    const config = { inputSchema: fields as StandardSchemaWithJSON };
    const { inputSchema = config.inputSchema } = mcp.registerTool("shape", config, () => ({ content: [] }));
    return inputSchema;
  } catch (cause) {
    const message = `Tool "${tool}": a schema by its fields needs fields of zod 4, such as { month: z.string() }; use z.object({ … }) for others.`;
    throw new HoldfastError("configuration", message, { cause });
  }
}

/** The schema of a JSON Schema. Throws if it is none. */
export function jsonSchema(json: object, validator = new AjvJsonSchemaValidator()): StandardSchemaWithJSON {
  // The SDK's type for a JSON Schema is that of its validator; any object is one.
  // A validator of its own: the SDK's default keeps every schema for ever, and knows two with one `$id` as the first.
  return fromJsonSchema(json as Parameters<typeof fromJsonSchema>[0], validator);
}

/** A schema that takes every value: whoever gave it judges them. It is shown as `json`. */
export function uncheckedSchema<T = unknown>(json: JsonFields = {}): StandardSchemaWithJSON<unknown, T> {
  return {
    "~standard": {
      version: 1,
      vendor: "holdfast",
      validate: (value) => ({ value: value as T }),
      jsonSchema: { input: () => json, output: () => json },
    },
  };
}

/**
 * A schema that another program has written, and judges itself. It is shown as it is, and checked here as far as that takes no longer than the
 * value is long: a pattern can take years, and so can references that double at each step. One that cannot be checked takes every value.
 */
export function foreignSchema(json: JsonFields): StandardSchemaWithJSON {
  let checks: StandardSchemaWithJSON | undefined;
  const all: StandardSchemaWithJSON = {
    "~standard": {
      version: 1,
      vendor: "holdfast",
      validate: (value) => {
        try {
          checks ??= jsonSchema(boundedPart(json), foreignValidator());
          return checks["~standard"].validate(value);
        } catch {
          checks = all;
          return { value };
        }
      },
      jsonSchema: { input: () => json, output: () => json },
    },
  };
  return all;
}

/** A validator keeps what it has compiled, so it is replaced now and then. */
let validatorOfForeign: AjvJsonSchemaValidator | undefined;
let compiledForeign = 0;

function foreignValidator(): AjvJsonSchemaValidator {
  if (compiledForeign++ % 200 === 0) validatorOfForeign = undefined;
  return (validatorOfForeign ??= new AjvJsonSchemaValidator());
}

/** Larger and deeper schemas are not checked: to compile them takes long. */
const mostForeignParts = 2_000;
const deepestForeign = 30;
/** Of alternatives for each item of a list, or each member of an object: what is as long as the list takes so many times as long. */
const mostForEach = 100;

/** Keywords that need one look at a value. */
const bounded: ReadonlySet<string> = new Set(
  "type nullable enum const required minimum maximum minLength maxLength minItems maxItems minProperties maxProperties".split(
    " ",
  ),
);

/** Where a part of a schema is. */
interface Place {
  readonly depth: number;
  /** Below the items of a list, or the members of an object. */
  readonly isEach: boolean;
  /** Below an alternative. */
  readonly isChoice: boolean;
}

/** A schema that takes everything that this one takes, and perhaps more, and whose check is quick. */
function boundedPart(json: JsonFields): JsonFields {
  let parts = 0;
  let forEach = 0;
  const count = (more: number, isForEach: boolean): void => {
    parts += more;
    if (isForEach) forEach += more;
    if (parts > mostForeignParts || forEach > mostForEach) throw new RangeError("The schema is too large");
  };
  const partOf = (schema: unknown, place: Place): unknown => {
    count(place.depth > deepestForeign ? Infinity : 1, place.isChoice && place.isEach);
    if (!isFields(schema)) return schema !== false;
    const below = { ...place, depth: place.depth + 1 };
    const each = { ...below, isEach: true };
    const part: Record<string, unknown> = {};
    for (const [keyword, value] of Object.entries(schema)) {
      if (Array.isArray(value) && bounded.has(keyword))
        count(value.length, place.isEach && keyword === "enum");
      if (bounded.has(keyword)) part[keyword] = value;
      else if (keyword === "properties" && isFields(value))
        part[keyword] = Object.fromEntries(
          Object.entries(value).map(([name, property]) => [name, partOf(property, below)]),
        );
      else if ((keyword === "allOf" || keyword === "anyOf") && Array.isArray(value))
        part[keyword] = value.map((choice) => partOf(choice, { ...below, isChoice: true }));
      else if (keyword === "items" && isFields(value) && !("prefixItems" in schema))
        part[keyword] = partOf(value, each);
      else if (keyword === "additionalProperties" && !("patternProperties" in schema))
        part[keyword] = partOf(value, each);
    }
    return part;
  };
  return partOf(json, { depth: 0, isEach: false, isChoice: false }) as JsonFields;
}

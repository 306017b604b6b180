import { McpServer, type StandardSchemaV1, type StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";

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

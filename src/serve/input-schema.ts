import { fromJsonSchema, type StandardSchemaV1 } from "@modelcontextprotocol/server";

/** A JSON Schema of an object. `type: object` may be left out, and other arguments than its properties are refused unless it says otherwise. */
export interface ArgumentsSchema {
  readonly type?: "object";
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

/** What a tool takes: its schema for clients, the names of its arguments, and how those that are left out get their defaults. */
export interface ToolInput {
  readonly schema: StandardSchemaV1;
  readonly names: readonly string[];
  withDefaults(args: Readonly<Record<string, unknown>>): Record<string, unknown>;
}

/** Throws the SDK's error for what is no JSON Schema. */
export function toolInput(given: ArgumentsSchema = {}): ToolInput {
  const properties = given.properties ?? {};
  const json = { type: "object" as const, additionalProperties: false, ...given, properties };
  const defaults = Object.entries(properties).flatMap(([name, each]) =>
    typeof each === "object" && each !== null && "default" in each ? [[name, each.default] as const] : [],
  );
  return {
    schema: fromJsonSchema(json as unknown as Parameters<typeof fromJsonSchema>[0]),
    names: Object.keys(properties),
    withDefaults: (args) => ({ ...Object.fromEntries(defaults), ...args }),
  };
}

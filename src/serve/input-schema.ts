import {
  fromJsonSchema,
  type StandardSchemaV1,
  type StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../generation/message.ts";

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
  return {
    schema: fromJsonSchema(json as unknown as Parameters<typeof fromJsonSchema>[0]),
    names: Object.keys(properties),
    withDefaults: (args) => ({ ...defaultsOf(properties), ...args }),
  };
}

/** The values of arguments that are left out, as the properties of an object's schema have them. */
export function defaultsOf(properties: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const defaults = Object.entries(properties).flatMap(([name, each]) =>
    isJsonObject(each) && "default" in each ? [[name, each["default"]] as const] : [],
  );
  return Object.fromEntries(defaults);
}

/** A schema as clients see it; undefined for one without a JSON form. */
export function jsonSchemaOf(schema: StandardSchemaV1 | undefined): JsonObject | undefined {
  const { jsonSchema } = (schema?.["~standard"] ?? {}) as Partial<StandardSchemaWithJSON["~standard"]>;
  return jsonSchema?.input({ target: "draft-2020-12" });
}

/** The properties of a schema for clients. */
export function propertiesOf(schema: StandardSchemaV1 | undefined): Readonly<Record<string, unknown>> {
  const properties = jsonSchemaOf(schema)?.["properties"];
  return isJsonObject(properties) ? properties : {};
}

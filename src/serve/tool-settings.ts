import {
  fromJsonSchema,
  type CallToolResult,
  type ToolAnnotations,
  type StandardSchemaV1,
  type StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import type { LimitName } from "../runtime/limits/limit-name.ts";
import type { TimeSpan } from "../task/time.ts";
import { isJsonObject, type JsonObject } from "../generation/message.ts";
import type { Approval } from "./approval.ts";
import { definedOf } from "../options/options.ts";
import type { SourceTool } from "./source.ts";

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
function toolInput(given: ArgumentsSchema = {}): ToolInput {
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

/** What each tool of a file can have, whatever its calls do. */
export interface ToolSettings {
  readonly title?: string | undefined;
  /** For the model: what the tool does, and when to use it. */
  readonly description?: string | undefined;
  readonly annotations?: ToolAnnotations | undefined;
  /** The arguments, as a JSON Schema of an object. Default: none. */
  readonly inputSchema?: ArgumentsSchema | undefined;
  /** The structured content of results, as a JSON Schema of an object, which results are checked against. Default: not checked. */
  readonly outputSchema?: ArgumentsSchema | undefined;
  /** Who has to agree before each call. Default: nobody. */
  readonly approval?: Approval | undefined;
  /** A limit of `limits`, or such a limit and a key. Default: none. */
  readonly limit?: LimitName | undefined;
  /** How many of its calls run at the same time, over all processes. Default: any number. */
  readonly concurrency?: number | undefined;
  /** Calls of a tool with a higher number start first. Default 0. */
  readonly priority?: number | undefined;
  /** The life of a task, its result included. Default: that of the server. */
  readonly ttlMs?: TimeSpan | null | undefined;
  /** How long a call may take in all. Default: that of the server. */
  readonly maxRunMs?: TimeSpan | undefined;
  /** How long a client without tasks waits before it gets a ticket. Default: that of the server. */
  readonly plainDeadlineMs?: TimeSpan | undefined;
}

const readHere = ["inputSchema", "outputSchema", "approval"] as const;

/** The tool for clients, and its arguments. All but `own`, which say what its calls do, goes to `tasks.tool`, which refuses what it does not know. */
export function described(
  settings: ToolSettings,
  own: readonly string[],
): {
  readonly config: SourceTool["config"];
  readonly input: ToolInput;
} {
  const { inputSchema, outputSchema } = settings;
  const input = toolInput(inputSchema);
  const notPassedOn: readonly string[] = [...readHere, ...own];
  const passedOn = Object.keys(settings).filter((name) => !notPassedOn.includes(name));
  const config = {
    ...definedOf(settings, passedOn as Exclude<keyof ToolSettings, (typeof readHere)[number]>[]),
    inputSchema: input.schema,
    ...(outputSchema && {
      outputSchema: fromJsonSchema({ type: "object", ...outputSchema } as Parameters<
        typeof fromJsonSchema
      >[0]),
    }),
    onCrash: "resume" as const,
  };
  return { config, input };
}

/** JSON data as a result: an object is structured content, too. */
export function jsonResult(value: unknown): CallToolResult {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return {
    content: [{ type: "text", text }],
    ...(isJsonObject(value) && { structuredContent: value }),
  };
}

export function errorResult(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

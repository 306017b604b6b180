import { isDeepStrictEqual } from "node:util";
import type { Tool } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { type ExitCode, UsageError } from "../errors.ts";
import {
  describeType,
  follow,
  type InputSchema,
  readInputSchema,
  typesOf,
} from "../arguments/input-schema.ts";
import { type Pair, parseArguments, withoutFile } from "../arguments/parse-arguments.ts";
import { quoteWord } from "../arguments/words.ts";
import { hanging, wrapped } from "../output/table.ts";
import type { TaskClient } from "../../client/task-client.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { declaredTasks, serverInfo, withServer } from "../server/with-server.ts";
import { resolveServer } from "../server/resolve-server.ts";
import { listTools, pickNamed } from "./call.ts";

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

interface ToolPage {
  readonly tool: Tool;
  /** Whether calls become tasks, in words; empty if unknown. */
  readonly task: string;
  readonly example: string;
  /** The width of the terminal; undefined for a program. */
  readonly columns: number | undefined;
}

/** Everything that a person needs to call a tool. */
function toolPage({ tool, task, example, columns }: ToolPage): string {
  const { name, title = tool.annotations?.title, description = "", inputSchema } = tool;
  const { properties, required, root } = readInputSchema(inputSchema);
  const about = [...facts(tool), ...(task === "" ? [] : [task])];
  const parts = [
    title === undefined || title === name ? name : `${name}: ${title}`,
    ...(description.trim() === "" ? [] : [wrapped(description.trim(), 0, columns)]),
    ...(about.length === 0 ? [] : [about.map((fact) => `- ${fact}`).join("\n")]),
    properties.size === 0
      ? "It takes no arguments."
      : `Arguments:\n${[...properties].map(([key, schema]) => argument(key, schema, { root, isRequired: required.includes(key), columns })).join("\n")}`,
    `Example:\n  ${example}`,
  ];
  return `${parts.join("\n\n")}\n`;
}

/** A call that the tool's schema accepts, as a command line. */
function exampleCall(server: string, { name, inputSchema }: Tool): string {
  const [place, behind] = server.startsWith("stdio:")
    ? ["", ` -- ${server.slice("stdio:".length)}`]
    : [`${quoteWord(server)} `, ""];
  const words = [name, ...exampleArguments(inputSchema)].map((word) => quoteWord(word));
  return `holdfast call ${place}${words.join(" ")}${behind}`;
}

/** What the server says about the tool's effects. */
function facts({ annotations = {} }: Tool): readonly string[] {
  const { readOnlyHint, destructiveHint, idempotentHint } = annotations;
  return [
    readOnlyHint === true ? "changes nothing, according to the server" : "",
    readOnlyHint !== true && destructiveHint === true
      ? "may delete or overwrite, according to the server"
      : "",
    readOnlyHint !== true && idempotentHint === true ? "safe to call again, according to the server" : "",
  ].filter((text) => text !== "");
}

interface ArgumentPage {
  readonly root: JsonObject;
  readonly isRequired: boolean;
  readonly columns: number | undefined;
}

function argument(key: string, schema: JsonObject, { root, isRequired, columns }: ArgumentPage): string {
  const { description, default: usual } = schema;
  const type = describeType(schema, root);
  const head = [
    `${key}=${type}`,
    isRequired ? "required" : "",
    usual === undefined ? "" : `default ${JSON.stringify(usual)}`,
    ...limits(schema),
  ];
  const isDescribed = typeof description === "string" && description.trim() !== "";
  const line = wrapped(head.filter((part) => part !== "").join(", "), 2, columns);
  return isDescribed ? `${line}\n${wrapped(description.trim(), 6, columns)}` : line;
}

const limitTexts: readonly (readonly [string, (limit: string | number) => string])[] = [
  ["minimum", (limit) => `at least ${limit}`],
  ["exclusiveMinimum", (limit) => `more than ${limit}`],
  ["maximum", (limit) => `at most ${limit}`],
  ["exclusiveMaximum", (limit) => `less than ${limit}`],
  ["minLength", (limit) => `at least ${count(limit, "character")}`],
  ["maxLength", (limit) => `at most ${count(limit, "character")}`],
  ["minItems", (limit) => `at least ${count(limit, "item")}`],
  ["maxItems", (limit) => `at most ${count(limit, "item")}`],
  ["pattern", (limit) => `matching ${limit}`],
  ["format", (limit) => `format ${limit}`],
];

function count(limit: string | number, noun: string): string {
  return `${limit} ${noun}${limit === 1 ? "" : "s"}`;
}

/** zod sets these limits for integers if the author sets none. */
const safe: ReadonlySet<unknown> = new Set([Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]);

function limits(schema: JsonObject): readonly string[] {
  return limitTexts.flatMap(([keyword, textOf]) => {
    const limit = schema[keyword];
    if (typeof limit !== "number" && typeof limit !== "string") return [];
    if (safe.has(limit)) return [];
    return [textOf(limit)];
  });
}

/** `holdfast tools SERVER [TOOL]` */
export async function tools(context: Context, { server, tool, options }: Given<"tools">): Promise<ExitCode> {
  const asked = await resolveServer(context, server, options);
  return withServer(context, { server: asked }, options, async ({ client, signal, terminal }) => {
    const found = await listTools(client, signal);
    terminal.display.end();
    if (found instanceof TaskClientError) throw found;
    const { output, state } = context;
    const { tools: listed, problems } = found;
    await state.noteTools(asked, listed);
    const support = taskSupport(client);
    const info = serverInfo(client);
    const warnings = problems.map((problem) => `holdfast: ${problem}`);
    if (tool !== undefined) {
      const shown = pickNamed("tool", tool, listed);
      const task = support(shown);
      const example = exampleCall(asked.shown, shown);
      return output.say({
        json: { server: info, tools: [{ ...toolJson(shown, task), example }] },
        text: toolPage({ tool: shown, task: taskFact(task), example, columns: output.columns }),
        warnings,
      });
    }
    return output.say({
      json: { server: info, tools: listed.map((each) => toolJson(each, support(each))) },
      text: listed.map((each) => toolLines(each, support(each), output.columns)).join(""),
      warnings,
      notes: [listed.length + problems.length === 0 && "holdfast: the server has no tools"],
    });
  });
}

/** `unknown` if the protocol does not let a server say. */
type TaskSupport = "required" | "optional" | "forbidden" | "unknown";

/** Whether calls of a tool become tasks. Only protocol 2025-11-25 declares it per tool. */
export function taskSupport(client: TaskClient): (tool: Tool) => TaskSupport {
  const { sdk } = client;
  if (sdk.getProtocolEra() === "modern") return () => "unknown";
  const hasTasks = declaredTasks(client) !== undefined;
  return ({ execution }) => (hasTasks ? (execution?.taskSupport ?? "forbidden") : "forbidden");
}

/** Whether a call becomes a task, in words; empty if unknown. */
function taskFact(task: TaskSupport): string {
  if (task === "required") return "a call is always a task";
  if (task === "optional") return "a call can be a task";
  return task === "forbidden" ? "a call is never a task" : "";
}

function toolJson({ name, description, inputSchema }: Tool, task: TaskSupport): object {
  return { name, ...(description !== undefined && { description }), task, inputSchema };
}

/** One line for the tool, and one for each of its arguments. */
function toolLines(
  { name, description = "", inputSchema }: Tool,
  task: TaskSupport,
  columns: number | undefined,
): string {
  const { properties, required, root } = readInputSchema(inputSchema);
  const [firstLine = ""] = description.trim().split("\n");
  const head = [name, firstLine, task === "required" || task === "optional" ? `(task: ${task})` : ""];
  const args = [...properties].map(([key, schema]) => {
    const type = describeType(schema, root);
    const about =
      typeof schema["description"] === "string" ? `  ${schema["description"].split("\n")[0]}` : "";
    return hanging(`    ${key}=${type}${required.includes(key) ? "" : "?"}${about}`, 8, columns);
  });
  return hanging(head.filter((part) => part !== "").join("  "), 6, columns) + args.join("");
}

import type { Tool } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../generation/message.ts";
import { describeType, readInputSchema } from "../arguments/input-schema.ts";
import { exampleArguments } from "../arguments/example-arguments.ts";
import { quoteWord } from "../arguments/shell-words.ts";
import { wrapped } from "./wrapped.ts";

interface ToolPage {
  readonly tool: Tool;
  /** Whether calls become tasks, in words; empty if unknown. */
  readonly task: string;
  readonly example: string;
  /** The width of the terminal; undefined for a program. */
  readonly columns: number | undefined;
}

/** Everything that a person needs to call a tool. */
export function toolPage({ tool, task, example, columns }: ToolPage): string {
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
export function exampleCall(server: string, { name, inputSchema }: Tool): string {
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

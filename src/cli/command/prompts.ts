import type { GetPromptResult, Prompt } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../generation/message.ts";
import { readInputSchema } from "../arguments/input-schema.ts";
import { didYouMean } from "../arguments/words.ts";
import { completeArguments, type Pair, parseArguments, readPairs } from "../arguments/parse-arguments.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { type ExitCode, exitCodes, UsageError } from "../errors.ts";
import { type Links, linksOf, saveContent, type SavedContent, SaveFolder } from "../output/save-content.ts";
import { hanging } from "../output/table.ts";
import { showContent } from "../output/show-content.ts";
import { resolveServer } from "../server/resolve-server.ts";
import { request, serverInfo, withServer } from "../server/with-server.ts";

/** `holdfast prompts SERVER` */
export async function prompts(context: Context, { server, options }: Given<"prompts">): Promise<ExitCode> {
  const asked = await resolveServer(context, server, options);
  const { output } = context;
  return withServer(context, { server: asked }, options, async ({ client, signal, terminal }) => {
    const { prompts: listed, problems } = await client.listPrompts({ signal });
    terminal.display.end();
    return output.say({
      json: { server: serverInfo(client), prompts: listed },
      text: listed.map((each) => promptLines(each, output.columns)).join(""),
      warnings: problems.map((problem) => `holdfast: ${problem}`),
      notes: [listed.length + problems.length === 0 && "holdfast: the server has no prompts"],
    });
  });
}

/** One line for the prompt, and one for each of its arguments. */
function promptLines(
  { name, title, description = "", arguments: all = [] }: Prompt,
  columns: number | undefined,
): string {
  const about = [title === name ? "" : (title ?? ""), firstLine(description)].filter((text) => text !== "");
  const lines = all.map((each) => {
    const mark = each.required === true ? "" : "?";
    return hanging(`    ${each.name}${mark}${withGap(firstLine(each.description ?? ""))}`, 8, columns);
  });
  return `${hanging(`${name}${withGap(about.join(": "))}`, 6, columns)}${lines.join("")}`;
}

function firstLine(text: string): string {
  return text.trim().split("\n")[0] ?? "";
}

function withGap(text: string): string {
  return text === "" ? "" : `  ${text}`;
}

/** `holdfast prompt SERVER NAME key=value …` */
export async function prompt(context: Context, command: Given<"prompt">): Promise<ExitCode> {
  const { name, options } = command;
  const { output, io } = context;
  const asked = await resolveServer(context, command.server, options);
  const pairs = await readPairs(command.pairs, io.cwd);
  const folder = await SaveFolder.open(options.save, io.cwd);
  return withServer(context, { server: asked }, options, async ({ client, signal, terminal }) => {
    const args = readArguments(pairs, pick(name, (await client.listPrompts({ signal })).prompts));
    terminal.display.about(undefined);
    const result = await client.getPrompt(name, args, { signal });
    terminal.display.end();
    const messages = await messagesOf(result, folder, linksOf(client, signal));
    const saved = folder && { saved: messages.flatMap((message) => message.saved) };
    const problems = messages.flatMap((message) => message.problems);
    return output.say({
      json: { server: asked.shown, prompt: name, result, ...saved },
      text: textOf(messages),
      warnings: problems.map((problem) => `holdfast: ${problem}`),
      code: problems.length === 0 ? exitCodes.done : exitCodes.failed,
    });
  });
}

/** The prompt of that name; throws a UsageError that names the others. */
function pick(name: string, listed: readonly Prompt[]): Prompt {
  const found = listed.find((each) => each.name === name);
  if (found !== undefined) return found;
  const names = listed.map((each) => each.name);
  const meant = didYouMean(name, names);
  throw new UsageError(
    `The server has no prompt ${JSON.stringify(name)}. ${meant}It has ${names.join(", ") || "none"}.`,
  );
}

/** All arguments of a prompt are strings. */
function readArguments(
  pairs: readonly Pair[],
  { arguments: all = [] }: Prompt,
): Readonly<Record<string, string>> {
  const schema: JsonObject = {
    type: "object",
    properties: Object.fromEntries(all.map((each) => [each.name, { type: "string" }])),
    required: all.filter((each) => each.required === true).map((each) => each.name),
    additionalProperties: false,
  };
  const form = readInputSchema(schema);
  const read = completeArguments(parseArguments(pairs, form, {}), form);
  return Object.fromEntries(Object.entries(read).map(([key, value]) => [key, String(value)]));
}

interface Message extends SavedContent {
  readonly role: string;
}

async function messagesOf(
  { messages }: GetPromptResult,
  folder: SaveFolder | undefined,
  links: Links,
): Promise<readonly Message[]> {
  const all: Message[] = [];
  for (const { role, content } of messages) {
    const saved =
      folder === undefined
        ? { text: showContent({ content: [content] }), saved: [], problems: [] }
        : await saveContent([content], folder, links);
    all.push({ role, ...saved });
  }
  return all;
}

/** The text of a single message, or each message under its role. */
function textOf(messages: readonly Message[]): string {
  const [first] = messages;
  if (first !== undefined && messages.length === 1) return first.text;
  return messages.map(({ role, text }) => `${role}:\n${text}`).join("\n");
}

/** `holdfast complete SERVER prompt NAME known=value argument=begin` */
export async function complete(
  context: Context,
  { server, kind, name, pairs, options }: Given<"complete">,
): Promise<ExitCode> {
  const asked = await resolveServer(context, server, options);
  const { output, io } = context;
  const values = (await readPairs(pairs, io.cwd)).map(argumentOf);
  const [argument] = values.slice(-1);
  const known = Object.fromEntries(values.slice(0, -1).map((each) => [each.name, each.value]));
  if (argument === undefined) throw new UsageError("Say which argument to complete.");
  const params = {
    ref:
      kind === "prompt"
        ? ({ type: "ref/prompt", name } as const)
        : ({ type: "ref/resource", uri: name } as const),
    argument,
    ...(values.length > 1 && { context: { arguments: known } }),
  };
  return withServer(context, { server: asked }, options, async ({ client, signal, terminal }) => {
    const { completion } = await request(async (how) => client.sdk.complete(params, how), signal);
    terminal.display.end();
    const { values: found, total, hasMore = false } = completion;
    const of = total === undefined ? "" : ` of ${total}`;
    return output.say({
      json: { values: found, ...(total !== undefined && { total }), hasMore },
      text: found.map((value) => `${value}\n`).join(""),
      notes: [
        (hasMore || (total ?? 0) > found.length) && `holdfast: these are the first ${found.length}${of}`,
      ],
    });
  });
}

function argumentOf({ key, value, isJson }: Pair): { readonly name: string; readonly value: string } {
  if (isJson || typeof value !== "string")
    throw new UsageError(`${key} takes the start of a value: write ${key}=…`);
  return { name: key, value };
}

import type { Resource, ResourceTemplateType, Prompt } from "@modelcontextprotocol/client";
import { TaskClientError } from "../../client/task-client-error.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { type ExitCode, exitCodes, UsageError } from "../errors.ts";
import { sizeText, fittedTable, type Column, hanging } from "../output/table.ts";
import type { Output, Said } from "../output/output.ts";
import {
  isArtifact,
  linksOf,
  saveContent,
  SaveFolder,
  saveResource,
  type Links,
  type SavedContent,
} from "../output/save-content.ts";
import { withNewline, showBlock, showContent } from "../output/show-content.ts";
import { request, serverInfo, type Session, withServer } from "../server/with-server.ts";
import { resolveServer } from "../server/resolve-server.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { readInputSchema } from "../arguments/input-schema.ts";
import { pickNamed } from "./call.ts";
import { completeArguments, type Pair, parseArguments, readPairs } from "../arguments/parse-arguments.ts";

/** `holdfast resources SERVER` */
export async function resources(
  context: Context,
  { server, options }: Given<"resources">,
): Promise<ExitCode> {
  const asked = await resolveServer(context, server, options);
  const { output } = context;
  return withServer(context, { server: asked }, options, async ({ client, signal, terminal }) => {
    const { resources: listed, problems } = await client.listResources({ signal });
    const { resourceTemplates: templates, problems: others } = await client.listResourceTemplates({ signal });
    terminal.display.end();
    const text = listsText(listed, templates, output.columns);
    return output.say({
      json: { server: serverInfo(client), resources: listed, resourceTemplates: templates },
      text,
      warnings: [...problems, ...others].map((problem) => `holdfast: ${problem}`),
      notes: [text === "" && "holdfast: the server has no resources"],
    });
  });
}

type Listed = Resource | ResourceTemplateType;

/** Text to copy into another command is never cut. */
const whole = Number.POSITIVE_INFINITY;

function listsText(
  listed: readonly Resource[],
  templates: readonly ResourceTemplateType[],
  cells: number | undefined,
): string {
  const columns = (title: string): readonly Column<Listed>[] => [
    [title, whole, (each) => ("uriTemplate" in each ? each.uriTemplate : each.uri)],
    ["TYPE", 4, typeOf],
    ["ABOUT", 10, aboutOf],
  ];
  const tables = [
    ...(listed.length === 0 ? [] : [fittedTable(columns("RESOURCE"), listed, cells)]),
    ...(templates.length === 0 ? [] : [fittedTable(columns("TEMPLATE"), templates, cells)]),
  ];
  return tables.join(cells === undefined ? "" : "\n");
}

function typeOf({ mimeType = "", size }: Partial<Resource>): string {
  return [mimeType, size === undefined ? "" : sizeText(size)].filter((part) => part !== "").join(", ");
}

/** Its title or name, and its description. */
function aboutOf({ name, title = name, description = "" }: Listed): string {
  return [title, description].filter((text) => text !== "").join(": ");
}

/** `holdfast read SERVER URI` */
export async function read(context: Context, { server, uri, options }: Given<"read">): Promise<ExitCode> {
  const asked = await resolveServer(context, server, options);
  const { output, io } = context;
  const folder = await SaveFolder.open(options.save, io.cwd);
  return withServer(context, { server: asked }, options, async (session) => {
    const once = async (): Promise<ExitCode> => readOnce(session, { uri, folder, output, options });
    return options.follow === true ? follow(session, uri, once) : once();
  });
}

interface ReadOnce {
  readonly uri: string;
  readonly folder: SaveFolder | undefined;
  readonly output: Output;
  readonly options: Given<"read">["options"];
}

async function readOnce(
  { client, signal, terminal, server }: Session,
  { uri, folder, output, options }: ReadOnce,
): Promise<ExitCode> {
  const links = linksOf(client, signal);
  const isSaved = folder !== undefined && isArtifact(uri);
  // An artifact may be too large to be read at once.
  const result = isSaved ? { contents: [] } : await client.readResource(uri, { signal });
  terminal.display.end();
  const files =
    folder &&
    (await (isSaved
      ? saveContent([{ type: "resource_link", uri, name: uri }], folder, links)
      : saveResource(result, folder, links)));
  const problems = files?.problems ?? [];
  return output.say({
    json: { server: server.shown, uri, result, ...(files && { saved: files.saved }) },
    line: options.follow,
    ...(files === undefined ? { maxChars: options.maxChars } : { text: files.text }),
    ...(files === undefined && !output.json && contentsOf(uri, result, output)),
    warnings: problems.map((problem) => `holdfast: ${problem}`),
    code: problems.length === 0 ? exitCodes.done : exitCodes.failed,
  });
}

/** Reads a resource, and again with each change that the server tells of, until the command is ended. */
async function follow(
  { client: { sdk }, signal }: Session,
  uri: string,
  readAgain: () => Promise<ExitCode>,
): Promise<ExitCode> {
  let changed = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => undefined);
  const lost = (): void =>
    ended.reject(new TaskClientError("connection", "The server ended the subscription"));
  signal.addEventListener("abort", () => ended.reject(signal.reason as Error), { once: true });
  sdk.setNotificationHandler("notifications/resources/updated", ({ params }) => {
    if (params.uri === uri) changed.resolve();
  });
  sdk.onclose = lost;
  // First, so that no change is missed.
  if (sdk.getProtocolEra() === "modern") {
    const subscription = await request(
      async (how) => sdk.listen({ resourceSubscriptions: [uri] }, how),
      signal,
    );
    void subscription.closed.then(lost);
  } else await request(async (how) => sdk.subscribeResource({ uri }, how), signal);
  for (;;) {
    await readAgain();
    await Promise.race([changed.promise, ended.promise]);
    changed = Promise.withResolvers<void>();
  }
}

/** Text unchanged, and bytes for a pipe. Any part may lack what it should have. */
function contentsOf(
  uri: string,
  { contents }: { readonly contents: readonly unknown[] },
  { isTerminal }: Output,
): Pick<Said, "text" | "notes"> {
  const bytes = contents.filter(isBinary);
  const [binary] = bytes;
  if (contents.length === 1 && binary !== undefined && !isTerminal)
    return { text: Buffer.from(binary.blob, "base64") };
  if (binary !== undefined) {
    const what = isTerminal ? "is not written to a terminal" : "cannot be separated from the other parts";
    const how = isTerminal ? ", pipe it" : "";
    throw new UsageError(`${uri} has ${describe(binary)}, which ${what}: use --save DIR${how}, or --json.`);
  }
  const isOnly = contents.length === 1 && !isTerminal;
  const texts = contents.map((resource) => showBlock({ type: "resource", resource }));
  return {
    text: texts.map((text) => (isOnly ? text : withNewline(text))).join(""),
    notes: [contents.length === 0 && "holdfast: the resource is empty"],
  };
}

interface Binary {
  readonly blob: string;
  readonly mimeType?: unknown;
}

function isBinary(content: unknown): content is Binary {
  return isJsonObject(content) && typeof content["blob"] === "string" && typeof content["text"] !== "string";
}

function describe({ blob, mimeType }: Binary): string {
  const size = sizeText(Buffer.byteLength(blob, "base64"));
  return `${typeof mimeType === "string" ? mimeType : "binary data"} of ${size}`;
}

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
    const args = readArguments(
      pairs,
      pickNamed("prompt", name, (await client.listPrompts({ signal })).prompts),
    );
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
  const values = completeArguments(parseArguments(pairs, form, {}), form);
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value)]));
}

interface Message extends SavedContent {
  readonly role: string;
}

async function messagesOf(
  { messages }: { readonly messages: readonly unknown[] },
  folder: SaveFolder | undefined,
  links: Links,
): Promise<readonly Message[]> {
  const all: Message[] = [];
  for (const message of messages) {
    const { role, content } = isJsonObject(message) ? message : { content: message };
    const saved =
      folder === undefined
        ? { text: showContent({ content: [content] }), saved: [], problems: [] }
        : await saveContent([content], folder, links);
    all.push({ role: typeof role === "string" ? role : "unknown", ...saved });
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

import {
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  isSpecType,
  type JSONRPCMessage,
  type RequestId,
} from "@modelcontextprotocol/client";
import { TaskClientError } from "../task-client-error.ts";
import { isJsonObject, metaOf, withMeta, type JsonObject } from "../../generation/message.ts";

/** What a list has: where its items are, what one is called, and what it cannot do without. */
interface ListKind {
  readonly member: string;
  readonly item: string;
  readonly isValid: (value: unknown) => boolean;
  /** The names of members that an item must have, with what they must be. */
  readonly required: Readonly<Record<string, "text" | "object">>;
}

const kinds: Readonly<Record<string, ListKind>> = {
  "tools/list": {
    member: "tools",
    item: "tool",
    isValid: isSpecType.Tool,
    required: { name: "text", inputSchema: "object" },
  },
  "resources/list": {
    member: "resources",
    item: "resource",
    isValid: isSpecType.Resource,
    required: { uri: "text", name: "text" },
  },
  "resources/templates/list": {
    member: "resourceTemplates",
    item: "resource template",
    isValid: isSpecType.ResourceTemplate,
    required: { uriTemplate: "text", name: "text" },
  },
  "prompts/list": {
    member: "prompts",
    item: "prompt",
    isValid: isSpecType.Prompt,
    required: { name: "text" },
  },
};

/** Answers that the SDK's client would refuse for one of their parts. */
const reads: Readonly<
  Record<string, { readonly member: string; readonly isPart: (value: unknown) => boolean }>
> = {
  "resources/read": {
    member: "contents",
    isPart: (value) => isSpecType.TextResourceContents(value) || isSpecType.BlobResourceContents(value),
  },
  "prompts/get": { member: "messages", isPart: isSpecType.PromptMessage },
};

const partsKey = "holdfast/parts";

/** The answer to a read, with its parts as the server sent them. */
export function withParts<Result extends object>(result: Result): Result {
  const parts = metaOf(result)[partsKey];
  if (!isJsonObject(parts)) return result;
  const { [partsKey]: _parts, ...meta } = metaOf(result);
  const { _meta, ...rest } = { ...result, _meta: meta };
  return { ...rest, ...parts, ...(Object.keys(_meta).length > 0 && { _meta }) } as Result;
}

/** The same answer, for a reader that needs all of it. Throws a TaskClientError if it has parts that nobody knows. */
export function asDefined<Result extends object>(result: Result): Result {
  if (metaOf(result)[partsKey] === undefined) return result;
  throw new TaskClientError("protocol", "The server's answer to resources/read is invalid: contents");
}

/** Answers in which a server introduces itself. Some write null for what they cannot do. */
const introductions: ReadonlySet<string> = new Set(["initialize", "server/discover"]);

/** How many levels an introduction has: `capabilities.tasks.requests.tools.call`, in a result. */
const introductionLevels = 6;

const problemsKey = "holdfast/problems";

/** A result in which only this program can have written what it keeps in `_meta`. */
function withoutOwnKeys(result: JsonObject): JsonObject {
  const meta = metaOf(result);
  if (!(partsKey in meta) && !(problemsKey in meta)) return result;
  const { [partsKey]: _parts, [problemsKey]: _problems, ..._meta } = meta;
  return { ...result, _meta };
}

/** What is wrong with a list that was read piece by piece; empty if nothing is. */
export function problemsOf(list: unknown): readonly string[] {
  const problems = metaOf(list)[problemsKey];
  return Array.isArray(problems) ? problems.map(String) : [];
}

/**
 * Reads the lists that the SDK's client asks for before it does: it would refuse a whole list for one item. A bad item is left out, a bad
 * part of an item that can do without it is, and both are named in the list's `_meta`; see `problemsOf`. A server's introduction is read as it
 * was meant: the SDK would not connect. Of an answer to a read, parts that nobody knows pass the SDK in its `_meta`; see `withParts`.
 */
export class ReadableLists {
  /** The methods of such requests that are not answered yet. */
  readonly #asked = new Map<RequestId, string>();
  /** Whether the server speaks a revision in which a tool's structured output is an object. */
  #isEarlier = false;

  rewriteOutgoing(message: JSONRPCMessage): JSONRPCMessage {
    if (!isJSONRPCRequest(message)) return message;
    const { id, method } = message;
    if ([kinds, reads].some((table) => Object.hasOwn(table, method)) || introductions.has(method))
      this.#asked.set(id, method);
    return message;
  }

  rewriteIncoming(message: JSONRPCMessage): JSONRPCMessage {
    const id = "id" in message ? message.id : undefined;
    if (id === undefined || "method" in message) return message;
    const method = this.#asked.get(id);
    this.#asked.delete(id);
    if (method === undefined || !isJSONRPCResultResponse(message)) return message;
    const result = withoutOwnKeys(message.result);
    const kind = kinds[method];
    if (kind !== undefined)
      return { ...message, result: readable(result, this.#isEarlier ? inEarlierRevisions(kind) : kind) };
    const read = reads[method];
    if (read !== undefined) {
      const { [read.member]: parts } = result;
      if (!Array.isArray(parts) || parts.every(read.isPart)) return { ...message, result };
      const sent = { [partsKey]: { [read.member]: parts } };
      return { ...message, result: withMeta({ ...result, [read.member]: [] }, sent) };
    }
    this.#isEarlier = method === "initialize";
    const said = withoutNulls(result, introductionLevels);
    return { ...message, result: this.#isEarlier ? introduction(said) : said };
  }
}

/** What a server says of itself, as far as it can be read. One that does not say what it can do is asked for tools. */
function introduction({ capabilities: given, serverInfo, ...rest }: JsonObject): JsonObject {
  const declared = Object.entries(isJsonObject(given) ? given : { tools: {} });
  const capabilities = declared.flatMap(([name, value]) =>
    isJsonObject(value) ? [[name, value]] : value === true ? [[name, {}]] : [],
  );
  const { name, version, ...more } = isJsonObject(serverInfo) ? serverInfo : {};
  const called = (text: unknown): string =>
    typeof text === "string" || typeof text === "number" ? String(text) : "unknown";
  return {
    ...rest,
    capabilities: Object.fromEntries(capabilities) as JsonObject,
    serverInfo: { name: called(name), version: called(version), ...more },
  };
}

/** A tool's `outputSchema` has the form of its `inputSchema` there. */
function inEarlierRevisions(kind: ListKind): ListKind {
  if (kind.item !== "tool") return kind;
  const isValid = (value: unknown): boolean =>
    kind.isValid(value) &&
    (!isJsonObject(value) ||
      value["outputSchema"] === undefined ||
      kind.isValid({ name: "output", inputSchema: value["outputSchema"] }));
  return { ...kind, isValid };
}

function readable(result: JsonObject, kind: ListKind): JsonObject {
  const { [kind.member]: items, nextCursor, ...rest } = withoutNulls(result);
  if (!Array.isArray(items)) return result;
  const problems: string[] = [];
  const read = items.map((item: unknown, index) => readItem(item, index, kind, problems));
  const isCursor = typeof nextCursor === "string";
  if (nextCursor !== undefined && !isCursor)
    problems.push(`nextCursor is not a text: what comes after these ${kind.item}s cannot be asked for`);
  const list = {
    ...rest,
    ...(isCursor && { nextCursor }),
    [kind.member]: read.filter((item) => item !== undefined),
  };
  return problems.length === 0 ? list : withMeta(list, { [problemsKey]: problems });
}

function readItem(
  value: unknown,
  index: number,
  { item, isValid, required }: ListKind,
  problems: string[],
): JsonObject | undefined {
  const [key = "name"] = Object.keys(required);
  const named = isJsonObject(value) ? (value["name"] ?? value[key]) : undefined;
  const name = typeof named === "string" ? JSON.stringify(named) : `number ${index + 1}`;
  const problem = (text: string): undefined => void problems.push(`${item} ${name}: ${text}`);
  if (!isJsonObject(value)) return problem("it is not an object");
  const given = withDefaults(withoutNulls(value), key);
  const missing = Object.entries(required).find(([member, kind]) => !isA(kind, given[member]));
  if (missing !== undefined) {
    const [member, kind] = missing;
    return problem(
      given[member] === undefined
        ? `${member} is missing`
        : `${member} is not ${kind === "text" ? "a text" : "an object"}`,
    );
  }
  if (isValid(given)) return given;
  const least = Object.fromEntries(Object.keys(required).map((member) => [member, given[member]]));
  if (!isValid(least)) return problem(`${Object.keys(required).at(-1)} is invalid`);
  let read: JsonObject = least;
  /** Looks for the bad parts by halves: an item can have very many. */
  const take = (parts: readonly [string, unknown][]): void => {
    const more = { ...read, ...Object.fromEntries(parts) };
    const [part] = parts;
    if (isValid(more)) read = more;
    else if (parts.length === 1 && part !== undefined) problem(`${part[0]} is invalid, and left out`);
    else {
      const half = Math.ceil(parts.length / 2);
      for (const some of [parts.slice(0, half), parts.slice(half)]) take(some);
    }
  };
  take(Object.entries(given));
  return read;
}

function isA(kind: "text" | "object", value: unknown): boolean {
  return kind === "text" ? typeof value === "string" : isJsonObject(value);
}

/** What every reader takes for granted: a schema of arguments is one of an object, and a resource without a name goes by its address. */
function withDefaults(item: JsonObject, key: string): JsonObject {
  const { inputSchema, name = item[key] } = item;
  const schema = isJsonObject(inputSchema) ? { inputSchema: { type: "object", ...inputSchema } } : {};
  return { ...item, ...(name !== undefined && { name }), ...schema };
}

/** Without members that are null, also those of as many levels of objects below. */
export function withoutNulls(object: JsonObject, levels = 1): JsonObject {
  const members = Object.entries(object).filter(([, value]) => value !== null);
  if (levels === 1) return Object.fromEntries(members);
  return Object.fromEntries(
    members.map(([name, value]) => [name, isJsonObject(value) ? withoutNulls(value, levels - 1) : value]),
  );
}

import type { JSONRPCErrorResponse, JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";

const lf = 10;

/** Splits what arrives on a pipe into lines. Each byte is looked at once, however long its line and however small the pieces. */
export class LineBuffer {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that these bytes complete. Throws a RangeError if a line is longer than the maximum. */
  after(bytes: Buffer): readonly string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = bytes.indexOf(lf); end !== -1; end = bytes.indexOf(lf, from)) {
      this.#add(bytes.subarray(from, end));
      lines.push(this.#take());
      from = end + 1;
    }
    this.#add(bytes.subarray(from));
    return lines;
  }

  clear(): void {
    this.#parts = [];
    this.#size = 0;
  }

  #add(part: Buffer): void {
    this.#size += part.length;
    if (this.#size > this.#maxBytes) throw new RangeError("The line is too long.");
    if (part.length > 0) this.#parts.push(part);
  }

  #take(): string {
    const [only] = this.#parts;
    const line =
      this.#parts.length === 1 && only !== undefined ? only : Buffer.concat(this.#parts, this.#size);
    this.clear();
    return line.toString("utf8").replace(/^\uFEFF|\r$/g, "");
  }
}

type Found = JSONRPCMessage | NotAMessage;

/**
 * The messages of a pipe, each of which is to be one line. Several on a line are read all the same. One over several lines is not: its
 * request ends with an error. Both are reported, as is what is no message.
 */
export class PipeMessages {
  readonly #maxBytes: number;
  readonly #lines: LineBuffer;
  /** The beginning of a text over several lines. */
  #begun: JsonText | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#lines = new LineBuffer(maxBytes);
  }

  /** What these bytes complete. Throws a RangeError if something is longer than the maximum. */
  after(bytes: Buffer): readonly Found[] {
    return this.#lines.after(bytes).flatMap((line) => this.#inLine(line));
  }

  clear(): void {
    this.#lines.clear();
    this.#begun = undefined;
  }

  #inLine(line: string): readonly Found[] {
    const found: Found[] = [];
    for (let rest = line; rest.trim() !== "";) {
      const value = jsonIn(rest);
      // Lines of a text over several may be JSON too, but no messages.
      if (value !== undefined && (this.#begun === undefined || isWhole(value))) {
        this.#begun = undefined;
        return [...found, ...readMessages(value)];
      }
      const { begun, rest: after } = this.#with(rest);
      found.push(...begun);
      rest = after;
    }
    return found;
  }

  /** What the beginning of a line is that is no JSON as a whole, and what comes after it. */
  #with(line: string): { readonly begun: readonly Found[]; readonly rest: string } {
    const isNew = this.#begun === undefined;
    if (isNew && !/^\s*[[{]/.test(line)) return { begun: [new NotAMessage("it is not JSON")], rest: "" };
    const text = this.#begun ?? new JsonText();
    const rest = text.after(line);
    if (rest === undefined) {
      if (text.text.length > this.#maxBytes) throw new RangeError("The text is too long.");
      this.#begun = text;
      return { begun: isNew ? [new NotAMessage("it is not JSON in one line")] : [], rest: "" };
    }
    this.#begun = undefined;
    const value = jsonIn(text.text);
    if (value === undefined) return { begun: [new NotAMessage("it is not JSON")], rest };
    if (isNew)
      return { begun: [new NotAMessage("a line has more than one message"), ...readMessages(value)], rest };
    return { begun: readMessages(value).map(overLines), rest };
  }
}

function overLines(message: Found): Found {
  const problem = "it is spread over several lines, but on a pipe each message has to be one line";
  return "id" in message && !("method" in message) && message.id !== undefined
    ? malformed(message.id, problem)
    : new NotAMessage(problem);
}

function isWhole(value: unknown): boolean {
  return isJsonObject(value) && "jsonrpc" in value;
}

/** Undefined for what is no JSON. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A JSON object or list that arrives line by line. Only its brackets and quotes are looked at. */
class JsonText {
  text = "";
  #depth = 0;

  /** Adds a line. Returns what of it comes after the end of the text, or undefined before the end. */
  after(line: string): string | undefined {
    let isQuoted = false;
    for (let at = 0; at < line.length; at++) {
      const character = line[at];
      if (isQuoted && character === "\\") at++;
      else if (character === '"') isQuoted = !isQuoted;
      else if (isQuoted) continue;
      else if (character === "{" || character === "[") this.#depth++;
      else if ((character === "}" || character === "]") && --this.#depth === 0) {
        this.text += line.slice(0, at + 1);
        return line.slice(at + 1);
      }
    }
    this.text += `${line}\n`;
    return undefined;
  }
}

/**
 * What a server's text means. Invariants: this is the only place that judges whether it is JSON-RPC, on every transport; what only deviates
 * is read as it was meant; an answer that cannot be read becomes an error answer under the same id, so that its request ends at once.
 */
export function deliverMessages(
  text: string,
  onMessage: (message: JSONRPCMessage) => void,
  onError: (error: Error) => void,
): void {
  try {
    for (const message of readMessages(parsed(text))) {
      if (message instanceof NotAMessage) onError(message);
      else onMessage(message);
    }
  } catch (error) {
    onError(error instanceof Error ? error : new Error(String(error)));
  }
}

/** The messages in a text, as JSON that is JSON-RPC. Throws if there are none. `answers`: the request that an answer without an id belongs to. */
export function readableTexts(text: string, answers?: RequestId): readonly string[] {
  const value = parsed(text);
  const messages = readMessages(value, answers);
  const [first] = messages;
  if (isAsGiven(value, first)) return [text];
  const readable = messages.filter((message) => !(message instanceof NotAMessage));
  if (readable.length === 0 && first instanceof Error) throw first;
  return readable.map((message) => JSON.stringify(message));
}

/** Whether nothing in it deviates: the text of a large message is then passed on, and not written again. */
function isAsGiven(value: unknown, message: object | undefined): boolean {
  if (!isJsonObject(value) || message === undefined) return false;
  const members = Object.entries(message);
  return (
    members.length === Object.keys(value).length && members.every(([name, member]) => value[name] === member)
  );
}

function readMessages(value: unknown, answers?: RequestId): readonly Found[] {
  return Array.isArray(value) ? value.map((each) => readMessage(each)) : [readMessage(value, answers)];
}

/** Throws if it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new NotAMessage(text.trim() === "" ? "it is empty" : "it is not JSON", { cause });
  }
}

/** It is no JSON-RPC, and answers nothing. */
export class NotAMessage extends Error {
  override readonly name = "NotAMessage";

  constructor(problem: string, options?: ErrorOptions) {
    super(`What the server sent is not JSON-RPC: ${problem}`, options);
  }
}

/** Marks an error answer that stands for one that cannot be read. */
const malformedKey = "holdfast/malformedAnswer";

/** Whether the error stands for an answer that cannot be read. */
export function isMalformed(data: unknown): boolean {
  return isJsonObject(data) && data[malformedKey] === true;
}

/** Marks an error answer that stands for one that was lost on its way. */
const lostKey = "holdfast/lostAnswer";

export function isLost(data: unknown): boolean {
  return isJsonObject(data) && data[lostKey] === true;
}

export function lostAnswer(id: RequestId, message: string): JSONRPCErrorResponse {
  return { jsonrpc: "2.0", id, error: { code: -32000, message, data: { [lostKey]: true } } };
}

const parseErrorCode = -32700;

function readMessage(value: unknown, answers?: RequestId): Found {
  if (!isJsonObject(value)) return new NotAMessage(`it is ${kindOf(value)}, and not a JSON object`);
  const { method, params } = value;
  // Some write every member there is, with null for what they do not have, and some repeat the method in its answer.
  const isAnswer = (value["result"] ?? value["error"] ?? undefined) !== undefined;
  const isRequest = typeof method === "string" && !isAnswer;
  const id = value["id"] ?? (isRequest || !("result" in value || "error" in value) ? undefined : answers);
  if (isRequest) {
    const rest = isJsonObject(params) ? { params: withReadableMeta(params) } : {};
    if (id === undefined) return { jsonrpc: "2.0", method, ...rest };
    return isId(id)
      ? { jsonrpc: "2.0", id, method, ...rest }
      : new NotAMessage(`the id of ${method} is ${kindOf(id)}`);
  }
  const problem = problemOf(value);
  if (!isId(id)) return new NotAMessage(problem ?? "it answers no request: it has no id");
  if (problem !== undefined) return malformed(id, problem);
  const { result, error } = value;
  const answer = isJsonObject(error) ? { error } : { result: withReadableMeta(result as JsonObject) };
  return { jsonrpc: "2.0", id, ...answer } as JSONRPCMessage;
}

/** Some servers write null for what they do not have. The SDK would take no notice of such a message, and somebody would wait for ever. */
function withReadableMeta(object: JsonObject): JsonObject {
  const { _meta: meta, ...rest } = object;
  if (meta === undefined) return object;
  if (!isJsonObject(meta)) return rest;
  const { progressToken, ...others } = meta;
  return progressToken === undefined || isId(progressToken) ? object : { ...rest, _meta: others };
}

function malformed(id: RequestId, problem: string): JSONRPCErrorResponse {
  return unreadableAnswer(id, `The server's answer is not JSON-RPC: ${problem}`);
}

/** Stands for an answer that cannot be read, or that has not come and will not. */
export function unreadableAnswer(id: RequestId, message: string): JSONRPCErrorResponse {
  return { jsonrpc: "2.0", id, error: { code: parseErrorCode, message, data: { [malformedKey]: true } } };
}

/** What is wrong with an answer. */
function problemOf({ result, error }: JsonObject): string | undefined {
  if (error === undefined && result === undefined) return "it has neither a result nor an error";
  if (error === undefined || (error === null && result !== undefined))
    return isJsonObject(result) ? undefined : `its result is ${kindOf(result)}`;
  if (result !== undefined && result !== null) return "it has both a result and an error";
  if (!isJsonObject(error)) return `its error is ${kindOf(error)}`;
  const { code, message } = error;
  if (!Number.isSafeInteger(code)) return `the code of its error is ${kindOf(code)}${said(message)}`;
  return typeof message === "string" ? undefined : `its error ${String(code)} has no message`;
}

function said(message: unknown): string {
  return typeof message === "string" ? `; its message: ${message.slice(0, 200).replaceAll(/\s+/g, " ")}` : "";
}

function isId(id: unknown): id is RequestId {
  return typeof id === "string" || Number.isSafeInteger(id);
}

function kindOf(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}

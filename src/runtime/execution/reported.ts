/**
 * What a handler reports of its work: lines of the log, blocks of the output, status texts and progress. Reports never fail the work:
 * - any value is taken, and becomes a text or plain data that says what it was;
 * - what is too long is cut, with a mark that says how much is missing;
 * - the same value always becomes the same text, because a line is recognised by its text when a handler runs again.
 */

import { type ContentBlock, isSpecType } from "@modelcontextprotocol/server";
import { cutBytes, encodeJson } from "../../task/stored-text.ts";
import { logLevels, type LogLevel, type LogText } from "../../task/task-line.ts";
import type { Progress } from "../../task/record.ts";
import { describeThrown, errorParts } from "../tool/tool-errors.ts";

/** A log line larger than this is cut, so that one cannot displace all others. */
const maxLineBytes = 64 * 1024;

/** The stored form of a log line. A level that does not exist becomes part of the text of a warning. */
export function logBody(level: LogLevel, text: unknown, data: unknown, maxLogBytes: number): string {
  const known: readonly unknown[] = logLevels;
  const isKnown = known.includes(level);
  const whole = isKnown ? textOf(text) : `[${textOf(level)}] ${textOf(text)}`;
  const line = { level: isKnown ? level : "warning", text: whole };
  const maxBytes = Math.min(maxLineBytes, maxLogBytes);
  const body = plainBody(data === undefined ? line : { ...line, data });
  if (body !== undefined && Buffer.byteLength(body) <= maxBytes) return body;
  return smallEnough(maxBytes, (room) => {
    const cut: LogText = { ...line, text: cutBytes(whole, room) };
    return JSON.stringify(data === undefined ? cut : { ...cut, data: plainData(data, room) });
  });
}

/** The stored forms of output blocks. What is no content becomes a text. */
export function outputBodies(
  content: string | ContentBlock | readonly ContentBlock[],
  maxBytes: number,
): readonly string[] {
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [content];
  const bodies = blocks.map((block) => (isContent(block) ? plainBody(block) : undefined));
  const whole = bodies.every((body) => body !== undefined) ? bodies : [plainBody(textBlock(textOf(content)))];
  return whole.map((body = "") => {
    const block = JSON.parse(body) as ContentBlock;
    if (Buffer.byteLength(body) <= maxBytes || block.type !== "text") return body;
    return smallEnough(maxBytes, (room) => JSON.stringify({ ...block, text: cutBytes(block.text, room) }));
  });
}

/** A status text, or the message of a progress report. */
export function statusOf(text: unknown, maxBytes: number): string {
  return cutBytes(textOf(text), maxBytes);
}

/** A report of progress; undefined without a finite number. */
export function progressOf(
  progress: unknown,
  total: unknown,
  message: unknown,
  maxBytes: number,
): Progress | undefined {
  const done = finite(progress);
  const all = finite(total);
  if (done === undefined) return undefined;
  return {
    progress: done,
    ...(all !== undefined && { total: all }),
    ...(message !== undefined && { message: statusOf(message, maxBytes) }),
  };
}

function finite(value: unknown): number | undefined {
  const number = typeof value === "bigint" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

function textBlock(text: string): ContentBlock {
  return { type: "text", text };
}

function isContent(block: unknown): block is ContentBlock {
  try {
    return isSpecType.ContentBlock(block);
  } catch {
    return false;
  }
}

/** The JSON of a value that is plain data, unchanged. */
function plainBody(value: unknown): string | undefined {
  try {
    return encodeJson(value, "It");
  } catch {
    return undefined;
  }
}

/** The first of ever shorter texts that fits, or the shortest. */
function smallEnough(maxBytes: number, textWithin: (room: number) => string): string {
  for (let room = maxBytes; ; room = Math.floor(room / 2)) {
    const text = textWithin(room);
    if (room < 8 || Buffer.byteLength(text) <= maxBytes) return text;
  }
}

/** More of a value than any list of lines keeps. */
const maxTextBytes = 1024 * 1024;

/** A text for any value: of an error its name and message, of data its JSON. Never throws. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (isError(value)) {
    const { name, message } = errorParts(value);
    return message === "" ? name : `${name}: ${message}`;
  }
  const data = plainData(value, maxTextBytes);
  return typeof data === "string" ? data : JSON.stringify(data);
}

function isError(value: unknown): value is Error {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

/** Plain data that says what a value is, in about so many bytes. Never throws. */
export function plainData(value: unknown, maxBytes: number): unknown {
  return new Description(maxBytes).of(value);
}

/** Deeper values are not described. */
const maxDepth = 64;

class Description {
  readonly #above = new Set<object>();
  /** Bytes left, roughly: what is described after it is used up is counted and left out. */
  #room: number;

  constructor(maxBytes: number) {
    this.#room = maxBytes;
  }

  of(value: unknown): unknown {
    try {
      return this.#any(value);
    } catch (error) {
      return this.#text(`[cannot be read: ${describeThrown(error)}]`); // its getters are the author's
    }
  }

  #any(value: unknown): unknown {
    switch (typeof value) {
      case "string":
        return this.#text(value);
      case "boolean":
        return value;
      case "number":
        this.#room -= 8;
        return Number.isFinite(value) ? value : String(value);
      case "bigint":
        return this.#text(`${value}n`);
      case "undefined":
        return "undefined";
      case "symbol":
        return this.#text(String(value));
      case "function":
        return this.#text(`[function ${value.name}`.trimEnd() + "]");
      case "object":
        return value === null ? null : this.#object(value);
    }
  }

  #object(value: object): unknown {
    if (this.#above.has(value)) return "[circular]";
    if (this.#above.size >= maxDepth) return "[nested too deeply]";
    this.#above.add(value);
    try {
      return this.#members(value);
    } finally {
      this.#above.delete(value);
    }
  }

  #members(value: object): unknown {
    if (value instanceof Error) return this.#record(Object.entries(errorParts(value)));
    if (value instanceof Promise) {
      value.catch(() => undefined); // nobody else may wait for a promise that was logged by mistake
      return "[promise]";
    }
    if (value instanceof Map)
      return this.#list([...value].map(([key, member]: [unknown, unknown]) => [key, member]));
    if (value instanceof Set) return this.#list([...value]);
    if (value instanceof RegExp) return this.#text(String(value));
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
    if ("toJSON" in value && typeof value.toJSON === "function") {
      const json = (value as { toJSON: (key: string) => unknown }).toJSON("");
      return json === value ? "[circular]" : this.of(json);
    }
    return Array.isArray(value) ? this.#list(value) : this.#record(Object.entries(value));
  }

  #list(members: readonly unknown[]): unknown[] {
    const list: unknown[] = [];
    for (const member of members) {
      if (this.#room <= 0) {
        list.push(`… [${members.length - list.length} more]`);
        break;
      }
      this.#room -= 1;
      list.push(this.of(member));
    }
    return list;
  }

  #record(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
    const record: [string, unknown][] = [];
    for (const [key, member] of entries) {
      if (member === undefined) continue;
      if (this.#room <= 0) {
        record.push(["…", `[${entries.length - record.length} more]`]);
        break;
      }
      record.push([this.#text(key), this.of(member)]);
    }
    return Object.fromEntries(record);
  }

  #text(text: string): string {
    const cut = cutBytes(text, Math.max(this.#room, 32));
    this.#room -= cut.length + 3;
    return cut;
  }
}

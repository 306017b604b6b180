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
import { plainData, textOf } from "../plain-data.ts";

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

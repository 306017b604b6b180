import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { UsageError } from "../errors.ts";

/** `key=text`, `key:=json`, `key=@file` or `key:=@file`. */
export interface Pair {
  readonly key: string;
  /** Whether the value is JSON whatever the schema says. */
  readonly isJson: boolean;
  readonly value: string | FileContent;
}

/** A file's contents; the schema decides whether they become text or base64. */
export interface FileContent {
  readonly path: string;
  readonly bytes: Buffer;
}

/** Splits arguments into keys and values, and reads the files that they name. Throws a UsageError. */
export async function readPairs(words: readonly string[], cwd: string): Promise<readonly Pair[]> {
  const pairs: Pair[] = [];
  for (const word of words) pairs.push(await readPair(word, cwd));
  return pairs;
}

/** How to type a value so that it names no file. */
export function withoutFile(value: string): string {
  return value.startsWith("@") ? `@${value}` : value;
}

async function readPair(word: string, cwd: string): Promise<Pair> {
  const { key, sign, text } = /^(?<key>[^=]+?)(?<sign>:?=)(?<text>.*)$/s.exec(word)?.groups ?? {};
  if (key === undefined || text === undefined) {
    throw new UsageError(`Write arguments as key=value or key:=json, not ${JSON.stringify(word)}.`);
  }
  const isJson = sign === ":=";
  if (!text.startsWith("@")) return { key, isJson, value: text };
  // A second @ escapes a value that begins with one. JSON never does.
  if (text.startsWith("@@") && !isJson) return { key, isJson, value: text.slice(1) };
  return { key, isJson, value: await readContent(`${key}${sign}`, text.slice(1), cwd) };
}

async function readContent(word: string, path: string, cwd: string): Promise<FileContent> {
  try {
    return { path, bytes: await readFile(resolve(cwd, path)) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const literal = word.endsWith(":=") ? "" : `. To pass a value that begins with @, write ${word}@@…`;
    throw new UsageError(`${word}@ reads the value from a file: ${reason}${literal}`);
  }
}

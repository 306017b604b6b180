import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { text as readAll } from "node:stream/consumers";
import { isUtf8 } from "node:buffer";
import { UsageError } from "../errors.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { Io } from "../io.ts";
import { didYouMean } from "./words.ts";
import { base64In, describeType, fits, follow, type InputSchema, typesOf } from "./input-schema.ts";

/** Whether a whole number would lose digits: JSON numbers are sent as doubles. */
export function losesDigits(numeral: string): boolean {
  return /^[+-]?\d+$/.test(numeral) && !Number.isSafeInteger(Number(numeral));
}

function tooLong(numeral: string): string {
  return `${numeral} is too long to be sent exactly as a number: it would arrive as ${String(Number(numeral))}`;
}

/** Like `JSON.parse`, but throws a UsageError for a whole number that would lose digits. */
function parseExactJson(text: string): unknown {
  return JSON.parse(withoutMark(text), (_key, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    if (typeof value === "number" && source !== undefined && losesDigits(source)) {
      throw new UsageError(`${tooLong(source)}.`);
    }
    return value;
  });
}

/** The JSON of an option or argument, which `what` names. Throws a UsageError. */
export function exactJson(what: string, text: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${what} takes JSON, which ${JSON.stringify(text)} is not.`);
  }
}

/** A file's text without the byte order mark that Windows programs put first. */
export function withoutMark(text: string): string {
  return text.replace(/^\ufeff/, "");
}

/** The object that `--args` gives: JSON, `@file`, or `-` for stdin. */
export async function readJsonArgument(given: string | undefined, { stdin, cwd }: Io): Promise<JsonObject> {
  if (given === undefined) return {};
  const json =
    given === "-"
      ? await readAll(stdin)
      : given.startsWith("@")
        ? await read(resolve(cwd, given.slice(1)))
        : given;
  let value: unknown;
  try {
    value = parseExactJson(json);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `--args is not valid JSON: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  if (!isJsonObject(value)) throw new UsageError("--args must be a JSON object.");
  return value;
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new UsageError(`--args: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** `key=text`, `key:=json`, `key=@file` or `key:=@file`. */
export interface Pair {
  readonly key: string;
  /** Whether the value is JSON whatever the schema says. */
  readonly isJson: boolean;
  readonly value: string | FileContent;
}

/** A file's contents; the schema decides whether they become text or base64. */
interface FileContent {
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

/**
 * Adds the arguments in `pairs` to `given`. The schema decides the type of each value; a repeated key makes a list.
 * Throws a UsageError that names the key.
 */
export function parseArguments(pairs: readonly Pair[], schema: InputSchema, given: JsonObject): JsonObject {
  const found = new Map<string, unknown>();
  for (const pair of pairs) {
    const { key } = pair;
    const value = readPairValue(pair, schema);
    found.set(key, found.has(key) ? repeated(key, found.get(key), value, schema) : value);
  }
  return { ...given, ...Object.fromEntries(found) };
}

/**
 * Adds the defaults of missing required arguments. Throws a UsageError for arguments that are still missing,
 * unknown, or of another type.
 */
export function completeArguments(given: JsonObject, schema: InputSchema): JsonObject {
  const { properties, required, root } = schema;
  const defaults = required
    .map((key) => [key, properties.get(key)?.["default"]] as const)
    .filter(([key, fallback]) => !Object.hasOwn(given, key) && fallback !== undefined);
  const args: JsonObject = { ...given, ...Object.fromEntries(defaults) };
  const missing = required.filter((key) => !Object.hasOwn(args, key));
  if (missing.length > 0)
    throw new UsageError(`Missing: ${missing.join(", ")}. ${describeArguments(schema)}`);
  for (const [key, value] of Object.entries(args)) {
    const known = properties.get(key);
    // A schema without properties may be incomplete; --args passes any keys.
    if (known === undefined && schema.isClosed && properties.size > 0) throw unknownKey(key, schema);
    if (known !== undefined && !fits(value, known, root))
      throw new UsageError(`${key} ${mustBe(known, root)}, not ${quoted(value)}.`);
  }
  return args;
}

function unknownKey(key: string, schema: InputSchema): UsageError {
  const meant = didYouMean(key, schema.properties.keys());
  return new UsageError(`There is no argument ${JSON.stringify(key)}. ${meant}${describeArguments(schema)}`);
}

function readPairValue({ key, value, isJson }: Pair, schema: InputSchema): unknown {
  if (typeof value === "string") return isJson ? parseJson(value, key) : readText(key, value, schema);
  if (isJson) return parseJson(textOf(value, key), key);
  const encoding = base64In(schema.properties.get(key) ?? {}, schema.root);
  return readText(key, encoding === undefined ? textOf(value, key) : value.bytes.toString(encoding), schema);
}

function textOf({ path, bytes }: FileContent, key: string): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  throw new UsageError(
    `${key}: ${path} is not UTF-8 text, and the schema does not say that ${key} is base64. If it is, give ${key}="$(base64 -w0 FILE)".`,
  );
}

function parseJson(text: string, key: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(`${key}: ${error.message}`);
    throw new UsageError(`${key}:= takes JSON, which ${quoted(text)} is not; for text, write ${key}=…`);
  }
}

function readText(key: string, text: string, schema: InputSchema): unknown {
  const known = schema.properties.get(key);
  if (known === undefined && schema.isClosed) throw unknownKey(key, schema);
  const found = readValue(text, known ?? {}, schema.root);
  if (found.kind === "problem") throw new UsageError(`${key} ${found.text}.`);
  return found.value;
}

function repeated(key: string, first: unknown, next: unknown, schema: InputSchema): unknown {
  const types = typesOf(schema.properties.get(key) ?? {}, schema.root);
  if (types.size > 0 && !types.has("array"))
    throw new UsageError(`${key} is given twice, but takes one value.`);
  const list: unknown[] = Array.isArray(first) ? first : [first];
  return list.concat(next);
}

/** Such as `It takes seconds (number, required) and label (string).` */
function describeArguments({ properties, required, root }: InputSchema): string {
  if (properties.size === 0) return "It takes no arguments.";
  const each = [...properties].map(([key, schema]) => {
    const type = describeType(schema, root);
    return `${key} (${required.includes(key) ? `${type}, required` : type})`;
  });
  return `It takes ${each.join(", ")}.`;
}

/** The value of a text by a schema, or why there is none. */
export type ReadValue =
  { readonly kind: "value"; readonly value: unknown } | { readonly kind: "problem"; readonly text: string };

/**
 * Converts `text` to the schema's type; without a type it stays text. `within` has the enclosing lists, to stop at
 * cycles.
 */
export function readValue(
  text: string,
  schema: JsonObject,
  root: JsonObject,
  within: readonly JsonObject[] = [],
): ReadValue {
  const { enum: choices } = schema;
  const types = typesOf(schema, root);
  const value = within.includes(schema) ? undefined : ofTypes(text, types, schema, root, within);
  if (value === undefined) {
    if (losesDigits(text) && (types.has("number") || types.has("integer")))
      return problem(`takes a number, and ${tooLong(text)}`);
    const hint = types.has("object") || types.has("array") ? "; write it as JSON with :=" : "";
    return problem(`${mustBe(schema, root)}, not ${quoted(text)}${hint}`);
  }
  if (Array.isArray(choices) && !choices.includes(value.value)) {
    return problem(`${mustBe(schema, root)}, not ${quoted(text)}`);
  }
  return { kind: "value", value: value.value };
}

function mustBe(schema: JsonObject, root: JsonObject): string {
  const type = describeType(schema, root);
  if (Array.isArray(schema["enum"])) return `must be one of ${type}`;
  return `must be ${/^[aeiou]/.test(type) ? "an" : "a"} ${type}`;
}

/** Shows a value in an error; it can be a whole file. */
export function quoted(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length <= longestQuoted ? text : `${text.slice(0, longestQuoted).toWellFormed()}…`;
}

const longestQuoted = 200;

function problem(text: string): ReadValue {
  return { kind: "problem", text };
}

function ofTypes(
  text: string,
  types: ReadonlySet<string>,
  schema: JsonObject,
  root: JsonObject,
  within: readonly JsonObject[],
): { readonly value: unknown } | undefined {
  if (types.size === 0) return { value: text };
  if (types.has("null") && text === "null") return { value: null };
  if (types.has("boolean") && (text === "true" || text === "false")) return { value: text === "true" };
  const isNumeral =
    /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) && Number.isFinite(Number(text)) && !losesDigits(text);
  if (isNumeral && types.has("number")) return { value: Number(text) };
  if (isNumeral && types.has("integer") && Number.isInteger(Number(text))) return { value: Number(text) };
  if (types.has("string")) return { value: text };
  if (types.has("array")) {
    const whole = parsed(text);
    if (Array.isArray(whole)) return { value: whole };
    const item = readValue(text, follow(schema["items"], root), root, [...within, schema]);
    return item.kind === "value" ? { value: [item.value] } : undefined;
  }
  const whole = types.has("object") ? parsed(text) : undefined;
  return typeof whole === "object" && whole !== null && !Array.isArray(whole) ? { value: whole } : undefined;
}

function parsed(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    return undefined;
  }
}

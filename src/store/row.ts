import { DecryptionError } from "../task/stored-text.ts";
import type { SessionNews } from "./session-store.ts";
import { storable } from "../task/time.ts";

/** Where a value is stored, by names that every store has: never a physical table or a row number. */
export interface Place {
  readonly table:
    | "task"
    | "request"
    | "journal"
    | "event"
    | "outcome"
    | "line"
    | "piece"
    | "message"
    | "session"
    | "secret"
    | "bulk_job"
    | "cause_mark";
  readonly column: string;
  /** The id of the task or session, or the name of the secret. */
  readonly of: string;
  /** Which of several values there: the key of an entry, the number of a line, the name of an event. */
  readonly key?: string | number | null;
}

/**
 * Turns texts of sealed columns into what is stored, and back. Each value is bound to its place: moved anywhere else, it cannot be opened.
 * - A body is the input or a result of a task. Opening one throws `DecryptionError` if its key is missing, or it is not what was stored there.
 * - Words are texts of a task's record, which is read wherever tasks are: without their key they stay as they are, and can be stored again.
 */
export interface Codec {
  readonly seal: (given: string, place: Place) => string;
  readonly open: (stored: string, place: Place) => string;
  /** Null: they are left out. */
  readonly sealWords: (given: string, place: Place) => string | null;
  readonly openWords: (stored: string, place: Place) => string;
  /** Of a hash ("c…"), one that only who has the first key can make ("k…"). One that is keyed already stays as it is. */
  readonly keyedHash: (hash: string) => string;
  /** A sealed value without content, which shows that what it is bound to has not changed. Null if nothing is encrypted. */
  readonly proofOf: (place: Place) => string | null;
  /** False if it cannot be known, for lack of the key. Throws `DecryptionError` if something did change. */
  readonly prove: (proof: string | null, place: Place) => boolean;
}

const same = (given: string): string => given;

/** For a store that is not encrypted. */
export const inClear: Codec = {
  seal: same,
  open: same,
  sealWords: same,
  openWords: same,
  keyedHash: same,
  proofOf: () => null,
  prove: () => true,
};

/** Where a message about a session is, for the other processes. */
export function newsPlace(session: string): Place {
  return { table: "session", column: "message", of: session };
}

/** News from another process. If it cannot be decrypted, whoever serves the session reads it again. */
export function openedNews({ id, message }: SessionNews, codec: Codec): SessionNews {
  const opened = message === null ? null : unlessUndecrypted(() => codec.open(message, newsPlace(id)));
  return { id, message: opened ?? null };
}

export function secretPlace(name: string): Place {
  return { table: "secret", column: "value", of: name };
}

/** Undefined for what cannot be decrypted. A session counts as missing then: its client starts another one. */
export function unlessUndecrypted<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof DecryptionError) return undefined;
    throw error;
  }
}

/** A noncharacter, with which none of our texts begins; if one does, it is escaped too. */
const escaped = "\ufffe";

/**
 * The form in which a database stores a text. A JavaScript string may contain half of a surrogate pair, which UTF-8 cannot: SQLite would store
 * U+FFFD for each, and two journal keys could become equal. Postgres takes no NUL, and Deno's SQLite reads a text only up to one. Such rare
 * texts are stored escaped.
 */
export function toStored(value: string): string {
  const isStorable = value.isWellFormed() && !value.includes("\0") && !value.startsWith(escaped);
  return isStorable ? value : escape(value);
}

export function storedOrNull(value: string | null): string | null {
  return value === null ? null : toStored(value);
}

/** How stored texts may begin that begin with `prefix`, as they are or escaped. */
export function storedStarts(prefix: string): readonly string[] {
  if (prefix === "") return [prefix];
  const ended = escape(`${prefix}\0`);
  const escapedStart = ended.slice(0, ended.lastIndexOf("\\u0000"));
  return toStored(prefix) === prefix ? [prefix, escapedStart] : [escapedStart];
}

function escape(value: string): string {
  return escaped + JSON.stringify(value);
}

/** The original text of a stored form. */
export function fromStored(stored: string): string {
  return stored.startsWith(escaped) ? String(JSON.parse(stored.slice(escaped.length))) : stored;
}

/** A row from a database. The functions here read its values and check them. */
export type Row = readonly (string | number | bigint | Uint8Array | null)[];

/** A column of a statement's rows: its position, and its name for messages. */
export interface Column {
  readonly place: number;
  readonly name: string;
}

/** The columns of a statement that selects `names`, in this order. */
export function columnsOf<N extends string>(names: readonly N[]): Readonly<Record<N, Column>> {
  const columns = names.map((name, place): [string, Column] => [name, { place, name }]);
  return Object.fromEntries(columns) as Record<N, Column>;
}

export function isNull(row: Row, { place }: Column): boolean {
  return row[place] === null;
}

export function textOrNull(row: Row, column: Column): string | null {
  const value = row[column.place];
  if (value === null) return null;
  if (typeof value !== "string") throw unexpected(column, value);
  try {
    return fromStored(value);
  } catch {
    throw unexpected(column, value); // its escape is incomplete
  }
}

export function text(row: Row, column: Column): string {
  return textOrNull(row, column) ?? missing(column);
}

const id: Column = { place: 0, name: "id" };

/** The id of a task, from the first column. An unreadable id is returned as stored; it names no task. */
export function idOf(row: Row): string {
  return textOrStored(row, id);
}

/** A text, or the stored value if the text is unreadable. */
export function textOrStored(row: Row, column: Column): string {
  try {
    return text(row, column);
  } catch {
    return String(row[column.place]);
  }
}

export function integerOrNull(row: Row, column: Column): number | null {
  const value = row[column.place];
  if (value === null) return null;
  const number = Number(value);
  if (typeof value === "string" || !Number.isSafeInteger(number)) throw unexpected(column, value);
  return number;
}

export function integer(row: Row, column: Column): number {
  return integerOrNull(row, column) ?? missing(column);
}

/** A time for clients. A time that `Date` cannot show would break its whole page. */
export function time(row: Row, column: Column): number {
  const value = integer(row, column);
  if (storable(value) !== value) throw unexpected(column, value);
  return value;
}

export function flag(row: Row, column: Column): boolean {
  return integer(row, column) !== 0;
}

/** A text that must be one of the names in `allowed`. */
export function oneOf<T extends string>(row: Row, column: Column, allowed: Readonly<Record<T, unknown>>): T {
  const value = text(row, column);
  if (!isNameIn(value, allowed)) throw unexpected(column, value);
  return value;
}

function isNameIn<T extends string>(value: string, allowed: Readonly<Record<T, unknown>>): value is T {
  return Object.hasOwn(allowed, value);
}

function missing(column: Column): never {
  throw unexpected(column, null);
}

function unexpected({ name }: Column, value: unknown): Error {
  return new Error(`The column ${name} contains ${String(value)}.`);
}

/** Whether Node refuses a value, which it will not take later either. Its other errors tell of closed databases, or of too little memory. */
export function isNoValue(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return (
    /^ERR_(?:INVALID_ARG_(?:TYPE|VALUE)|OUT_OF_RANGE|STRING_TOO_LONG)$/.test(code) ||
    error.message === "Invalid string length"
  );
}

import { storable } from "../task/time.ts";
import { fromStored } from "./stored-text.ts";

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

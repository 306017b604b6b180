import type { SQLOutputValue } from "node:sqlite";
import { storable } from "../../task/time.ts";
import { fromStored } from "./stored-text.ts";

/** A row as SQLite gives it; its values are read through the functions here, which check what they find. */
export type Row = Readonly<Record<string, SQLOutputValue>>;

export function textOrNull(row: Row, column: string): string | null {
  const value = row[column];
  if (value === null) return null;
  if (typeof value !== "string") throw unexpected(column, value);
  try {
    return fromStored(value);
  } catch {
    throw unexpected(column, value); // its escape is cut
  }
}

export function text(row: Row, column: string): string {
  return textOrNull(row, column) ?? missing(column);
}

/** The id of a task; one that cannot be read as it is stored, which names no task. */
export function idOf(row: Row): string {
  try {
    return text(row, "id");
  } catch {
    return String(row["id"]);
  }
}

export function integerOrNull(row: Row, column: string): number | null {
  const value = row[column];
  if (value === null) return null;
  const number = Number(value);
  if (typeof value === "string" || !Number.isSafeInteger(number)) throw unexpected(column, value);
  return number;
}

export function integer(row: Row, column: string): number {
  return integerOrNull(row, column) ?? missing(column);
}

/** A time that clients are shown: one that no `Date` can show would break the page that it stands on. */
export function time(row: Row, column: string): number {
  const value = integer(row, column);
  if (storable(value) !== value) throw unexpected(column, value);
  return value;
}

export function flag(row: Row, column: string): boolean {
  return integer(row, column) !== 0;
}

/** A text that has to be one of the names in `allowed`. */
export function oneOf<T extends string>(row: Row, column: string, allowed: Readonly<Record<T, true>>): T {
  const value = text(row, column);
  if (!isNameIn(value, allowed)) throw unexpected(column, value);
  return value;
}

function isNameIn<T extends string>(value: string, allowed: Readonly<Record<T, true>>): value is T {
  return Object.hasOwn(allowed, value);
}

function missing(column: string): never {
  throw unexpected(column, null);
}

function unexpected(column: string, value: unknown): Error {
  return new Error(`The database holds ${String(value)} in the column ${column}.`);
}

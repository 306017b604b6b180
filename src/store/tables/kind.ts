/**
 * How the values of a column are stored, and checked when they are read: a value that is damaged, or of another version, throws and names
 * the column.
 */

import { type Column, flag, integer, oneOf, type Row, text, time, toStored } from "../row.ts";

export type Stored = string | number | null;

/** `R` is the record that the value is a member of. When it is read, it has the members of the columns before this one. */
export interface Kind<T, R = unknown> {
  readonly type: "text" | "integer" | "flag";
  /** NULL is a value: null, or none for a member that is left out. */
  readonly isNullable?: boolean;
  /** The member is left out where there is no value. */
  readonly isOptional?: boolean;
  /** Numbers the rows of the table; the database assigns it. */
  readonly isSerial?: boolean;
  /** Never changed. */
  readonly isWrittenOnce?: boolean;
  /** The only values that the database takes. */
  readonly names?: readonly string[];
  readonly write: (value: T, record: R) => Stored;
  /** Reads another value than NULL. */
  readonly read: (row: Row, column: Column, record: R) => T;
  /** What NULL stands for, if that is another value. */
  readonly readNull?: (record: R) => T;
  readonly sealing?: Sealing<T, R>;
}

/** Passes a text with its place in the row through a codec. Null: leave it out; only words can be. */
export type Convert = (text: string, key?: string | number | null, column?: string) => string | null;

/** The texts in a value that an encrypted store encrypts. Values of null have none. */
export interface Sealing<T, R = unknown> {
  /** Words of a task's record: without their key they stay as they are. */
  readonly areWords?: boolean;
  /** It is a hash that statements search by: it is keyed, and stays so. */
  readonly isHash?: boolean;
  readonly seal: (value: T, convert: Convert, record: R) => T;
  readonly open: (value: T, convert: Convert, record: R) => T;
}

export const aText: Kind<string> = { type: "text", write: toStored, read: text };

export const anInteger: Kind<number> = { type: "integer", write: (value) => value, read: integer };

/** A number that is 0 in most rows, in which NULL stands for it: there it takes no room. */
export const aCount: Kind<number> = {
  ...anInteger,
  isNullable: true,
  write: (value) => (value === 0 ? null : value),
  readNull: () => 0,
};

/** A time that is shown to clients (epoch ms). */
export const aTime: Kind<number> = { ...anInteger, read: time };

export const aFlag: Kind<boolean> = { type: "flag", write: Number, read: flag };

export const aSerial: Kind<number> = { ...anInteger, isSerial: true };

/** No scope (RFC 6749, 3.3), owner's id or webhook name contains a space. */
export const words: Kind<readonly string[]> = {
  type: "text",
  write: (names) => names.join(" "),
  read: (row, column) => splitWords(text(row, column)),
};

function splitWords(joined: string): readonly string[] {
  return joined === "" ? [] : joined.split(" ");
}

/** One of the names in `known`. */
export function aName<T extends string>(known: Readonly<Record<T, unknown>>): Kind<T> {
  return { type: "text", write: (name) => name, read: (row, column) => oneOf(row, column, known) };
}

/** The same, which the database checks too. */
export function checkedName<T extends string>(known: Readonly<Record<T, unknown>>): Kind<T> {
  return { ...aName(known), names: Object.keys(known) };
}

/** A value as JSON text, which `isValid` accepts. */
export function json<T>(isValid: (value: unknown) => boolean = () => true): Kind<T> {
  return {
    type: "text",
    write: (value) => JSON.stringify(value),
    read: (row, column) => {
      const stored = text(row, column);
      const value: unknown = JSON.parse(stored);
      if (!isValid(value)) throw new Error(`The column ${column.name} contains ${stored}.`);
      return value as T;
    },
  };
}

export function orNull<T, R>(kind: Kind<T, R>): Kind<T | null, R> {
  return {
    ...(kind as Kind<T | null, R>),
    isNullable: true,
    write: (value, record) => (value === null ? null : kind.write(value, record)),
  };
}

/** A member that is left out where there is none. */
export function orNone<T, R>(kind: Kind<T, R>): Kind<T | undefined, R> {
  return {
    ...(kind as Kind<T | undefined, R>),
    isNullable: true,
    isOptional: true,
    write: (value, record) => (value === undefined ? null : kind.write(value, record)),
  };
}

/** Null is stored as an empty text, so that statements can seek the next one. */
export const textOrEmpty: Kind<string | null> = {
  type: "text",
  write: (value) => (value === null ? "" : toStored(value)),
  read: (row, column) => {
    const stored = text(row, column);
    return stored === "" ? null : stored;
  },
};

/** NULL stands for the value of the member `as`, whose column comes before it: most are the same. */
export function sameAs<M extends string>(as: M): Kind<string, Readonly<Record<M, string>>> {
  return {
    type: "text",
    isNullable: true,
    readNull: (record) => record[as],
    write: (value, record) => (value === record[as] ? null : toStored(value)),
    read: text,
  };
}

export function once<T, R>(kind: Kind<T, R>): Kind<T, R> {
  return { ...kind, isWrittenOnce: true };
}

/** A text that is encrypted as a whole. `key`: which of several values there; `when`: of which records. */
export function sealed<T extends string | null, R = unknown>(
  kind: Kind<T, R>,
  {
    key,
    when,
  }: { readonly key?: (record: R) => string | number | null; readonly when?: (record: R) => boolean } = {},
): Kind<T, R> {
  const convertText = (value: T, convert: Convert, record: R): T =>
    when?.(record) === false ? value : (convert(value as string, key?.(record)) as T);
  return { ...kind, sealing: { seal: convertText, open: convertText } };
}

/** A hash of a text, which an encrypted store keys, so that nobody finds out by trial what it is of. */
export const aKeyedHash: Kind<string> = {
  ...aText,
  sealing: { isHash: true, seal: (hash, convert) => convert(hash) ?? hash, open: (hash) => hash },
};

/** A value of words of a record, each of which `convertAll` converts. */
export function withWords<T, R>(
  kind: Kind<T, R>,
  convertAll: (value: NonNullable<T>, convert: Convert) => NonNullable<T> | null,
): Kind<T, R> {
  const convertValue = (value: T, convert: Convert): T => convertAll(value as NonNullable<T>, convert) as T;
  return { ...kind, sealing: { areWords: true, seal: convertValue, open: convertValue } };
}

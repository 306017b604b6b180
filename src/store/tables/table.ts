/**
 * A table, declared once: each member of a record with the kind of its column. From the declaration come the DDL (`ddl.ts`), the rows, what
 * is encrypted in them, and the columns that statements name.
 * - A member that is new to a record has to be declared, or the declaration does not compile.
 * - Both dialects have the same columns. Only indexes, and tables of a store's own, differ.
 */

import { type Codec, type Column, inClear, type Place, type Row, toStored } from "../row.ts";
import type { Convert, Kind, Stored } from "./kind.ts";

export type Dialect = "sqlite" | "postgres";

export interface Index {
  /** Its columns, for both dialects or for each that has it. */
  readonly on: string | Readonly<Partial<Record<Dialect, string>>>;
  readonly where?: string;
  readonly isUnique?: true;
}

/** A column that statements search by, and that is computed from the record. Nobody reads it back. */
export interface SearchColumn<R> {
  readonly type: Kind<unknown>["type"];
  readonly isNullable?: boolean;
  readonly write: (record: R, codec: Codec) => Stored;
}

export type Members<R> = { readonly [M in keyof R]-?: Kind<R[M], R> };

export interface Declaration<R> {
  readonly members: Members<R>;
  readonly search?: Readonly<Record<string, SearchColumn<R>>>;
  /** The columns of the primary key, in order. */
  readonly key: readonly string[];
  readonly indexes?: Readonly<Record<string, Index>>;
  /** How much of a page Postgres fills at first, so that changed rows stay there (per cent). */
  readonly fillFactor?: number;
  /** Members that most changes of a row are of: they are the last columns in Postgres, since of a changed row it logs what follows the first change. */
  readonly changing?: readonly (keyof R)[];
  /** Rows belong to a task, whose id is their first column, `task_id`. */
  readonly ofTask?: true;
}

type AnyRecord = Record<string, unknown>;

interface MemberColumn {
  readonly member: string;
  readonly name: string;
  readonly kind: Kind<unknown>;
}

/** What reading a row needs of a column. All have one form, unlike kinds, which V8 would read much more slowly. */
interface Cell extends Pick<Kind<unknown>, "read"> {
  readonly member: string;
  readonly column: Column;
  readonly isNullable: boolean;
  readonly readNull: Kind<unknown>["readNull"];
}

// A record has many members, and V8 finds one by a name that varies ten times as slowly as in a loop with `for in`. So what is done for
// each save loops like this.

/** Some columns of a table, in the order in which statements select them. */
export class Columns<R extends object> {
  readonly table: string;
  readonly names: readonly string[];
  /** Their places in such rows, by member. */
  readonly at: Readonly<Record<keyof R, Column>>;
  readonly #cells: readonly Cell[];
  readonly #sealed: readonly MemberColumn[];
  readonly #blank: AnyRecord;

  constructor(table: string, members: readonly MemberColumn[]) {
    this.table = table;
    this.names = members.map(({ name }) => name);
    this.#cells = members.map(({ member, name, kind }, place) => ({
      member,
      column: { place, name },
      isNullable: kind.isNullable === true,
      read: kind.read,
      readNull: kind.readNull,
    }));
    this.at = Object.fromEntries(this.#cells.map(({ member, column }) => [member, column])) as Record<
      keyof R,
      Column
    >;
    this.#sealed = members.filter(({ kind }) => kind.sealing !== undefined);
    const always = members.filter(({ kind }) => kind.isOptional !== true);
    this.#blank = JSON.parse(`{${always.map(({ member }) => `"${member}":null`).join(",")}}`) as AnyRecord;
  }

  /** For a SELECT, optionally of the table under this name. */
  list(of?: string): string {
    return this.names.map((name) => (of === undefined ? name : `${of}.${name}`)).join(", ");
  }

  /** The names of the columns with texts that an encrypted store encrypts. */
  get sealedNames(): readonly string[] {
    return this.#sealed.filter(({ kind }) => kind.sealing?.isHash !== true).map(({ name }) => name);
  }

  /** The record of a row that begins with these columns, of the task or session `of`. Throws if it is damaged. */
  read(of: string, row: Row, codec: Codec): R {
    const record = this.decode(row);
    return codec === inClear ? record : this.opened(of, record, codec);
  }

  /** The same with its texts as they are stored. */
  decode(row: Row): R {
    const record: AnyRecord = { ...this.#blank };
    for (const { member, column, isNullable, read, readNull } of this.#cells) {
      if (row[column.place] !== null || !isNullable) record[member] = read(row, column, record);
      else if (readNull !== undefined) record[member] = readNull(record);
    }
    return record as R;
  }

  opened(of: string, record: R, codec: Codec): R {
    return this.converted(record, (name, { areWords, open }, value) =>
      open(
        value,
        (text, key, column = name) => {
          const place = this.#place(of, column, key);
          return areWords === true ? codec.openWords(text, place) : codec.open(text, place);
        },
        record,
      ),
    );
  }

  sealed(of: string, record: R, codec: Codec): R {
    if (codec === inClear) return record;
    return this.converted(record, (name, { areWords, isHash, seal }, value) =>
      seal(
        value,
        (text, key, column = name) => {
          if (isHash === true) return codec.keyedHash(text);
          const place = this.#place(of, column, key);
          return areWords === true ? codec.sealWords(text, place) : codec.seal(text, place);
        },
        record,
      ),
    );
  }

  /** The record with each of its sealed values, except those without any text, as `convert` returns it. */
  converted(
    record: R,
    convert: (name: string, sealing: NonNullable<Kind<unknown>["sealing"]>, value: unknown) => unknown,
  ): R {
    const before = record as AnyRecord;
    let after = before;
    for (const { member, name, kind } of this.#sealed) {
      const value = before[member];
      if (value === null || value === undefined || kind.sealing === undefined) continue;
      const made = convert(name, kind.sealing, value);
      if (made === value) continue;
      if (after === before) after = { ...before };
      after[member] = made;
    }
    return after as R;
  }

  #place(of: string, column: string, key: Parameters<Convert>[1]): Place {
    const table = this.table as Place["table"];
    return { table, column, of, ...(key !== undefined && { key }) };
  }
}

/** What an update writes. */
export interface RowChanges {
  readonly names: readonly string[];
  readonly values: readonly Stored[];
}

/** A column of a member that is written. */
export interface WrittenMember extends MemberColumn {
  /** In `values`. */
  readonly place: number;
}

/** A column as statements write it. */
export interface WrittenColumn {
  readonly name: string;
  readonly type: Kind<unknown>["type"];
  readonly isNullable: boolean;
  readonly isWrittenOnce: boolean;
  /** Whether most changes of a row are of this column. */
  readonly isChanging: boolean;
  readonly names: readonly string[] | undefined;
}

/** A table of whatever records. */
export interface AnyTable {
  readonly table: string;
  readonly key: readonly string[];
  readonly indexes: Readonly<Record<string, Index>>;
  readonly fillFactor: number | undefined;
  readonly names: readonly string[];
  readonly written: readonly WrittenColumn[];
  readonly serial: string | undefined;
  /** The columns with texts that an encrypted store encrypts. */
  readonly sealedNames: readonly string[];
  read(of: string, row: Row, codec: Codec): object;
  values(of: string, record: object, codec: Codec): Stored[];
}

/** All columns of a table. `N` is a record before it has its serial number. */
export class Table<R extends N, N extends object = R> extends Columns<R> implements AnyTable {
  readonly key: readonly string[];
  readonly indexes: Readonly<Record<string, Index>>;
  readonly fillFactor: number | undefined;
  /** Those of the table, in the order of `values`; without the serial number, which the database assigns. */
  readonly written: readonly WrittenColumn[];
  /** The serial number, if it has one. */
  readonly serial: string | undefined;
  readonly #all: readonly MemberColumn[];
  readonly #members: readonly MemberColumn[];
  readonly #byMember: ReadonlyMap<string, WrittenMember>;
  readonly #optional: readonly MemberColumn[];
  readonly #search: readonly SearchColumn<R>[];
  readonly #ofTask: boolean;

  constructor(name: string, { members, search = {}, ...declared }: Declaration<R>) {
    const all = Object.entries(members as unknown as Readonly<Record<string, Kind<unknown>>>).map(
      ([member, kind]) => ({ member, name: columnNamed(member), kind }),
    );
    super(name, all);
    this.key = declared.key;
    this.indexes = declared.indexes ?? {};
    this.fillFactor = declared.fillFactor;
    this.#ofTask = declared.ofTask === true;
    this.#all = all;
    this.#members = all.filter(({ kind }) => kind.isSerial !== true);
    const first = Number(this.#ofTask);
    this.#optional = this.#members.filter(({ kind }) => kind.isOptional === true);
    this.#byMember = new Map(
      this.#members.map((each, place) => [each.member, { ...each, place: first + place }]),
    );
    this.serial = all.find(({ kind }) => kind.isSerial === true)?.name;
    this.#search = Object.values(search);
    const changing = new Set(declared.changing?.map((member) => columnNamed(String(member))));
    const columnOf = (
      column: string,
      { type, isNullable, isWrittenOnce, names }: Omit<Kind<unknown>, "read" | "write">,
    ): WrittenColumn => ({
      name: column,
      type,
      isNullable: isNullable === true,
      isWrittenOnce: isWrittenOnce === true || this.key.includes(column),
      isChanging: changing.has(column),
      names,
    });
    this.written = [
      ...(this.#ofTask ? [columnOf("task_id", { type: "text" })] : []),
      ...this.#members.map(({ name: column, kind }) => columnOf(column, kind)),
      ...Object.entries(search).map(([column, of]) => columnOf(column, { ...of, isWrittenOnce: true })),
    ];
  }

  /** Only these members. */
  pick<M extends keyof R & string>(...members: readonly M[]): Columns<Pick<R, M>> {
    return new Columns<Pick<R, M>>(
      this.table,
      this.#all.filter(({ member }) => members.some((each) => each === member)),
    );
  }

  /** The values for `written`, of a record of the task or session `of`. */
  values(of: string, given: N, codec: Codec): Stored[] {
    const record = given as R;
    const stored = this.sealed(of, record, codec);
    const row: Stored[] = this.written.map(() => null);
    if (this.#ofTask) row[0] = toStored(of);
    for (const member in stored) {
      const column = this.#byMember.get(member);
      if (column !== undefined) row[column.place] = column.kind.write(stored[member], stored);
    }
    let place = this.written.length - this.#search.length;
    for (const { write } of this.#search) row[place++] = write(record, codec);
    return row;
  }

  /**
   * The columns in which two versions of a record differ. Others are left out of an update, which spares their indexes. Members that did
   * not change are the same values, also lists and objects.
   */
  changes(of: string, before: R, after: R, codec: Codec): RowChanges {
    const changed = this.changed(before, after);
    return { names: changed.map(({ name }) => name), values: this.valuesIn(changed, of, after, codec) };
  }

  changed(before: R, after: R): readonly WrittenMember[] {
    const [was, is] = [before as AnyRecord, after as AnyRecord];
    const changed: WrittenMember[] = [];
    for (const member in is) if (was[member] !== is[member]) this.#addChanging(changed, member);
    for (const { member } of this.#optional)
      if (is[member] === undefined && was[member] !== undefined) this.#addChanging(changed, member);
    return changed.sort((a, b) => a.place - b.place);
  }

  #addChanging(changed: WrittenMember[], member: string): void {
    const column = this.#byMember.get(member);
    if (column !== undefined && column.kind.isWrittenOnce !== true) changed.push(column);
  }

  /** The values of these columns. */
  valuesIn(columns: readonly MemberColumn[], of: string, record: R, codec: Codec): Stored[] {
    const isSealed = codec !== inClear && columns.some(({ kind }) => kind.sealing !== undefined);
    const stored = (isSealed ? this.sealed(of, record, codec) : record) as AnyRecord;
    return columns.map(({ member, kind }) => kind.write(stored[member], stored));
  }
}

function columnNamed(member: string): string {
  return member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

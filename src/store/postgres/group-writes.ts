import type { TaskRecord } from "../../task/record.ts";
import { type Codec, toStored } from "../row.ts";
import type { Stored } from "../tables/kind.ts";
import { byColumn } from "../tables/statements.ts";
import type { AnyTable } from "../tables/table.ts";
import { rowOf, taskTable } from "../tables/task.ts";
import {
  changeRows,
  ofEachChange,
  type RowChangeName,
  rowChangeNames,
  rowChanges,
} from "../tables/writes.ts";
import type { TableWrite } from "../table-write.ts";
import type { SqlValue } from "./database.ts";
import type { OwnerStatements } from "./ownership.ts";
import type { WriteStatements } from "./task-sql.ts";

type OwnerWrite = Extract<TableWrite, { do: "retire_owner" | "drain_owner" }>;
type Row = readonly Stored[];

/** The writes of a group of commands: each statement once for all rows that it changes, where that is possible. */
export class GroupWrites {
  readonly #codec: Codec;
  readonly #portions: Portion[] = [];
  #last = new Portion();
  readonly #owners: OwnerWrite[] = [];

  constructor(codec: Codec) {
    this.#codec = codec;
    this.#portions.push(this.#last);
  }

  add(write: TableWrite): void {
    if (write.do === "retire_owner" || write.do === "drain_owner") return void this.#owners.push(write);
    if (write.do === "remove" && this.#last.hasTask(write.id)) this.#begin();
    if (write.do === "insert") this.#last.insert(write.task);
    if (write.do === "save") this.#last.save(write.before, write.task);
    changeRows(write, this.#codec, (name, row) => {
      if (!this.#last.put(name, row)) this.#begin().put(name, row);
    });
  }

  #begin(): Portion {
    this.#last = new Portion();
    this.#portions.push(this.#last);
    return this.#last;
  }

  get isEmpty(): boolean {
    return this.#owners.length === 0 && this.#portions.every((portion) => portion.isEmpty);
  }

  /** How many tasks it leaves that any owner may claim. */
  get claimable(): number {
    const tasks = new Map(this.#portions.flatMap((portion) => portion.tasks.map((task) => [task.id, task])));
    const isClaimable = ({ state, lane, owner }: TaskRecord): boolean =>
      state === "queued" && lane !== null && owner === null;
    return [...tasks.values()].filter(isClaimable).length;
  }

  /** Sends all writes. */
  send(batch: WriteBatch, sql: WriteStatements, owners: OwnerStatements): void {
    for (const [index, portion] of this.#portions.entries()) {
      if (index > 0) batch.divide();
      portion.send(batch, sql, this.#codec);
    }
    for (const write of this.#owners) {
      const { owner } = write;
      if (write.do === "drain_owner") {
        batch.apart(owners.drain, owner, write.until);
        continue;
      }
      for (const each of [owners.deleteMessages, owners.unmarkCommits, owners.retire])
        batch.apart(each, owner);
      if (write.forgetAt !== null) batch.apart(owners.forget, owner, write.forgetAt);
    }
  }
}

/** What is sent later, and changes rows of the same table. But a line that is deleted is older than those that are added. */
const followers = ofEachChange(({ table }, name) =>
  rowChangeNames
    .slice(rowChangeNames.indexOf(name) + 1)
    .filter((each) => rowChanges[each].table === table && each !== "deleteLine"),
);

/** Columns that are written once stay as they were first. */
function upserted({ written }: AnyTable, before: Row, row: Row): Row {
  return row.map((value, at) => (written[at]?.isWrittenOnce === true ? (before[at] ?? null) : value));
}

/** Writes that come to the same in the order of `rowChanges` as in the order in which they were made. */
class Portion {
  readonly #inserts = new Map<string, TaskRecord>();
  readonly #updates = new Map<string, { readonly before: TaskRecord; after: TaskRecord }>();
  readonly #rows = new Map<RowChangeName, Map<string, Row>>();

  insert(task: TaskRecord): void {
    this.#inserts.set(task.id, task);
  }

  save(before: TaskRecord, after: TaskRecord): void {
    const updated = this.#updates.get(after.id);
    if (this.#inserts.has(after.id)) this.#inserts.set(after.id, after);
    else if (updated !== undefined) updated.after = after;
    else this.#updates.set(after.id, { before, after });
  }

  hasTask(id: string): boolean {
    return this.#inserts.has(id) || this.#updates.has(id);
  }

  get tasks(): readonly TaskRecord[] {
    return [...Array.from(this.#updates.values(), ({ after }) => after), ...this.#inserts.values()];
  }

  get isEmpty(): boolean {
    return this.#inserts.size + this.#updates.size + this.#rows.size === 0;
  }

  /** False if it has to come after what is here. */
  put(name: RowChangeName, row: Row): boolean {
    for (const later of followers[name]) if (this.#hasOf(later, row[0])) return false;
    const { table, does, key } = rowChanges[name];
    let rows = this.#rows.get(name);
    if (rows === undefined) this.#rows.set(name, (rows = new Map<string, Row>()));
    // No stored text contains NUL.
    const id = key === undefined ? String(rows.size) : row.slice(0, key).join("\0");
    const before = rows.get(id);
    if (before !== undefined && (does === "insert" || does === "update")) return false;
    rows.set(id, before === undefined || does === "delete" ? row : upserted(table, before, row));
    return true;
  }

  #hasOf(name: RowChangeName, of: Stored | undefined): boolean {
    for (const row of this.#rows.get(name)?.values() ?? []) if (row[0] === of) return true;
    return false;
  }

  send(batch: WriteBatch, sql: WriteStatements, codec: Codec): void {
    for (const name of rowChangeNames) {
      if (name === "insertRequest") this.#sendTasks(batch, sql, codec);
      const rows = this.#rows.get(name);
      if (rows === undefined) continue;
      const values = byColumn([...rows.values()]);
      const { does } = rowChanges[name];
      if (does === "insert" || does === "upsert") batch.together(sql[name], ...values);
      else batch.apart(sql[name], ...values);
    }
  }

  /** Of all tasks those columns in which any of them has changed: nobody else can have changed the others, since the rows are locked. */
  #sendTasks(batch: WriteBatch, sql: WriteStatements, codec: Codec): void {
    const updates = [...this.#updates.values()];
    const changed = new Set(updates.flatMap(({ before, after }) => taskTable.changed(before, after)));
    // In the order of the table, so that there are few different statements.
    const columns = [...changed].sort((a, b) => a.place - b.place);
    if (columns.length > 0) {
      const rows = updates.map(({ after }) => [
        toStored(after.id),
        ...taskTable.valuesIn(columns, after.id, after, codec),
      ]);
      batch.together(sql.updateTasks(columns.map(({ name }) => name)), ...byColumn(rows));
    }
    if (this.#inserts.size === 0) return;
    // A new one may have a key that another task gives up.
    if (columns.length > 0) batch.divide();
    batch.together(
      sql.insertTasks,
      ...byColumn(Array.from(this.#inserts.values(), (task) => rowOf(task, codec))),
    );
  }
}

export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** The writes of a group. Those that may go together are one statement: each costs the database and this process about as much, whatever it does. */
export class WriteBatch {
  readonly #sent: Statement[][] = [];
  #last: Statement[] = [];

  /** It may be one statement with those before and after it, of which none sees what the others write. */
  together(sql: string, ...values: SqlValue[]): void {
    this.#last.push({ sql, values });
  }

  /** It sees what was written before, and is seen by what is written after it. */
  apart(sql: string, ...values: SqlValue[]): void {
    this.divide();
    this.together(sql, ...values);
    this.divide();
  }

  /** What was written so far is seen by what is written from now on. */
  divide(): void {
    if (this.#last.length > 0) this.#sent.push(this.#last);
    this.#last = [];
  }

  /** What is to be sent, one after another. */
  get statements(): readonly Statement[] {
    this.divide();
    return this.#sent.map((together) => inOne(together));
  }

  /** All of it as one statement, which writes nothing if `guard` fails; undefined if it cannot be one. */
  guardedBy({ sql, values }: Statement): Statement | undefined {
    this.divide();
    const [together, ...others] = this.#sent;
    if (together === undefined || others.length > 0) return undefined;
    return inOne([...together, { sql: `SELECT * FROM (${sql}) AS guard`, values }]);
  }
}

/** Postgres runs the last one first, and then the others to their ends. */
function inOne(together: readonly Statement[]): Statement {
  const values: SqlValue[] = [];
  const texts = together.map((each) => {
    const before = values.length;
    values.push(...each.values);
    return before === 0
      ? each.sql
      : each.sql.replace(/\$(\d+)/g, (_, number) => `$${Number(number) + before}`);
  });
  const last = texts.pop() ?? "";
  const parts = texts.map((text, place) => `part_${place} AS (${text})`);
  return { sql: parts.length === 0 ? last : `WITH ${parts.join(", ")} ${last}`, values };
}

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { TaskRecord } from "../../task/record.ts";
import { readableTasks } from "./readable-rows.ts";
import { prepareRows, type RowStatement } from "./row-statement.ts";
import * as sql from "./sql.ts";
import { toStored } from "../stored-text.ts";

/** The tasks that other tasks made, on the write connection. */
export class SqliteRelatives {
  readonly #children: RowStatement;
  readonly #insert: StatementSync;
  readonly #delete: StatementSync;

  constructor(db: DatabaseSync) {
    this.#children = prepareRows(db, sql.selectChildren);
    this.#insert = db.prepare(sql.insertChild);
    this.#delete = db.prepare(sql.deleteChild);
  }

  /** Leaves out unreadable ones: the process that runs them reports them. */
  children(parent: string): readonly TaskRecord[] {
    return readableTasks(this.#children.all(toStored(parent)), []);
  }

  add({ id, parent }: TaskRecord): void {
    if (parent !== null) this.#insert.run(toStored(id), toStored(parent.id), toStored(parent.root));
  }

  delete(id: string): void {
    this.#delete.run(toStored(id));
  }
}

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { TaskLine } from "../../task/task-line.ts";
import { lineRowOf } from "../line-row.ts";
import { toStored } from "../stored-text.ts";
import * as sql from "./sql.ts";

/** The logs and outputs of tasks, on the write connection. */
export class SqliteLines {
  readonly #insert: StatementSync;
  readonly #delete: StatementSync;

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare(sql.insertLine);
    this.#delete = db.prepare(sql.deleteLine);
  }

  append(id: string, lines: readonly TaskLine[], forget: readonly number[]): void {
    const stored = toStored(id);
    for (const line of lines) this.#insert.run(stored, ...lineRowOf(line, toStored));
    for (const seq of forget) this.#delete.run(stored, seq);
  }
}

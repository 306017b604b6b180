/**
 * Pieces of files are large, and the commit that deletes a task with a large file would take longer than others may wait for it. So a
 * commit deletes some of them, and the rest is deleted afterwards, in the background.
 * - Nobody sees pieces without their task, whose id is never used again.
 * - What a process leaves when it ends, the next one that opens the store deletes.
 */

import { idOf } from "../row.ts";
import { toStored } from "../stored-text.ts";
import type { Database } from "./database.ts";
import type { Names } from "./names.ts";

/** How many pieces to delete at a time: some 20 MB. */
export const mostPieces = 64;

/** How long to gather deleted tasks (ms). */
const gatherMs = 1_000;

/** The number of tasks to look at at a time. */
const page = 200;

export function leftPieceStatements({ piece, task }: Pick<Names, "piece" | "task">) {
  return {
    /** Of deleted tasks. */
    some: `DELETE FROM ${piece} WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM ${piece} WHERE task_id = ANY($1::text[]) LIMIT ${mostPieces})) RETURNING 1`,
    /** The tasks behind one that have pieces, and whether they exist. */
    owners: `WITH RECURSIVE owners AS (
        (SELECT task_id FROM ${piece} WHERE task_id > $1 ORDER BY task_id LIMIT 1)
        UNION ALL SELECT (SELECT task_id FROM ${piece} AS next WHERE next.task_id > owners.task_id ORDER BY task_id LIMIT 1)
          FROM owners WHERE owners.task_id IS NOT NULL)
      SELECT task_id, EXISTS (SELECT FROM ${task} WHERE id = task_id)::int FROM owners WHERE task_id IS NOT NULL LIMIT ${page}`,
  };
}

/** Deletes the pieces of files whose tasks have been deleted. */
export class LeftPieces {
  readonly #database: Pick<Database, "query">;
  readonly #sql: ReturnType<typeof leftPieceStatements>;
  #ids = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #deleting: Promise<void> | undefined;
  #isClosed = false;

  constructor(database: Pick<Database, "query">, names: Names) {
    this.#database = database;
    this.#sql = leftPieceStatements(names);
  }

  /** Deletes what others have left. */
  start(): void {
    this.#deleting = this.#findAll().catch(() => undefined); // the next process that opens the store does it
  }

  /** These tasks have been deleted. */
  add(ids: readonly string[]): void {
    for (const id of ids) this.#ids.add(id);
    if (this.#isClosed || this.#ids.size === 0) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const deleted = [...this.#ids];
      this.#ids = new Set();
      const before = this.#deleting;
      this.#deleting = (async () => {
        await before;
        await this.#deleteOf(deleted);
      })().catch(() => undefined);
    }, gatherMs).unref();
  }

  /** Resolves when no delete is running. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#deleting;
  }

  async #findAll(): Promise<void> {
    let after = "";
    while (!this.#isClosed) {
      const rows = await this.#database.query(this.#sql.owners, [toStored(after)]);
      const last = rows.at(-1);
      if (last === undefined) return;
      after = idOf(last);
      await this.#deleteOf(rows.filter(([, exists]) => exists !== 1).map(idOf));
    }
  }

  async #deleteOf(ids: readonly string[]): Promise<void> {
    while (ids.length > 0 && !this.#isClosed) {
      const gone = await this.#database.query(this.#sql.some, [ids.map(toStored)]);
      if (gone.length < mostPieces) return;
    }
  }
}

import { type Query, formsOf, type Reading, rowsOf } from "./dialect.ts";
import {
  contentTables,
  type DumpRow,
  type DumpTable,
  taskParts,
  taskTable,
  wholeTables,
} from "./dump-tables.ts";
import type { LoadBatch, LoadTarget } from "./load.ts";
import { type LoadMark, type LoadMarkSql, loadMarkSql, loadTable, notEmpty, otherLoad } from "./load-mark.ts";
import type { Dialect } from "./tables/table.ts";

/** The statements that fill a store. */
export function loadSql(named: (table: string) => string, dialect: Dialect) {
  const { among } = formsOf(dialect);
  return {
    content: contentTables
      .map(({ name }) => `SELECT 1 FROM (SELECT 1 FROM ${named(name)} LIMIT 1) AS ${name}`)
      .join(" UNION ALL "),
    /** A task goes last. */
    removes: [
      ...taskParts.map(({ name }) => `DELETE FROM ${named(name)} WHERE task_id ${among(1)}`),
      `DELETE FROM ${named(taskTable.name)} WHERE id ${among(1)}`,
    ],
    empties: wholeTables.map(({ name }) => `DELETE FROM ${named(name)}`),
    mark: loadMarkSql(named(loadTable), dialect),
  };
}

/** The ids of the tasks between two. */
export function idsSql(task: string, dialect: Dialect): string {
  const { either } = formsOf(dialect);
  const end = either("$2", '$2::text COLLATE "C"');
  return `SELECT id FROM ${task} WHERE id > $1 AND (${end} IS NULL OR id <= ${end}) ORDER BY id LIMIT $3`;
}

interface LoadSql extends ReturnType<typeof loadSql> {
  readonly ids: string;
}

/** A store that is filled, in whatever database. */
export abstract class TableTarget implements LoadTarget {
  readonly #place: string;
  readonly #sql: LoadSql;

  /** `place` names it in messages. */
  constructor(place: string, sql: LoadSql) {
    this.#place = place;
    this.#sql = sql;
  }

  abstract mark(): Promise<LoadMark | undefined>;

  protected abstract transaction<T>(reading: Reading<T>): Promise<T>;

  protected abstract insert(table: DumpTable, rows: readonly DumpRow[]): Iterable<Query>;

  /** What is done when all rows are there. */
  protected abstract finish(): Iterable<Query>;

  begin(mark: LoadMark): Promise<void> {
    return this.transaction(begun(this.#sql, this.#place, mark));
  }

  ids(after: string, upTo: string | undefined, limit: number): Promise<readonly string[]> {
    return this.transaction(rowsOf(this.#sql.ids, [after, upTo ?? null, limit], ([id]) => String(id)));
  }

  write(batch: LoadBatch): Promise<void> {
    return this.transaction(written(this.#sql, batch, (...rows) => this.insert(...rows)));
  }

  open(): Promise<void> {
    return this.transaction(opened(this.#sql.mark, this.finish()));
  }
}

function* begun({ content, mark }: LoadSql, place: string, { dump, lines }: LoadMark): Reading<void> {
  if ((yield { sql: content, values: [] }).length > 0) throw notEmpty(place);
  yield { sql: mark.create, values: [] };
  yield { sql: mark.insert, values: [dump, lines] };
}

function* written(
  sql: LoadSql,
  { removes, empties, rows, from, to }: LoadBatch,
  insert: (table: DumpTable, rows: readonly DumpRow[]) => Iterable<Query>,
): Reading<void> {
  const moved = yield { sql: sql.mark.move, values: [to.dump, to.lines, from.dump, from.lines] };
  if (moved.length !== 1) throw otherLoad();
  if (removes.length > 0) for (const each of sql.removes) yield { sql: each, values: [removes] };
  if (empties) for (const each of sql.empties) yield { sql: each, values: [] };
  for (const [table, all] of rows) for (const query of insert(table, all)) yield query;
}

function* opened({ drop }: LoadMarkSql, finish: Iterable<Query>): Reading<void> {
  for (const query of finish) yield query;
  yield { sql: drop, values: [] };
}

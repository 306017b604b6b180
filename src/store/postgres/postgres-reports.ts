import { reportsBetween, reportSql } from "../admin-reads.ts";
import type { LivingOwner, NodeReport, NodeReports } from "../admin-store.ts";
import { columnsOf, idOf, integer, integerOrNull, toStored } from "../row.ts";
import { reportTable } from "../tables/tables.ts";
import type { Database } from "./database.ts";
import type { Names } from "./names.ts";
import { type Owners, seemsToLive } from "./ownership.ts";
import { readsOf } from "./read-task.ts";

interface ReportParts {
  readonly database: Pick<Database, "read" | "codecs">;
  readonly owners: Pick<Owners, "id" | "leaseMs">;
}

const at = columnsOf(["id", "running", "drainUntil"]);

/** The reports of a schema's owners. */
export class PostgresReports implements NodeReports {
  readonly between: NodeReports["between"];
  readonly #sql: ReturnType<typeof reportStatements>;
  readonly #open: () => ReportParts;

  constructor(names: Names, open: () => ReportParts) {
    this.#sql = reportStatements(names);
    this.#open = open;
    this.between = reportsBetween(
      this.#sql,
      readsOf(() => open().database),
    );
  }

  /** Writing twice does no harm. */
  async write({ minute, body }: Omit<NodeReport, "owner">, oldest: number): Promise<void> {
    const { database, owners } = this.#open();
    await database.read(this.#sql.write, [toStored(owners.id), minute, toStored(body), oldest]);
  }

  async owners(most: number): Promise<readonly LivingOwner[]> {
    const { database, owners } = this.#open();
    const rows = await database.read(this.#sql.owners, [owners.leaseMs, most]);
    return rows.map((row) => ({
      id: idOf(row),
      running: integer(row, at.running),
      drainUntil: integerOrNull(row, at.drainUntil),
    }));
  }
}

/** The reports of processes, and the tasks that they run. */
export function reportStatements(names: Names) {
  const { report, owner, task } = names;
  const all = reportTable.list();
  return {
    ...reportSql(names, "postgres"),
    /** Also deletes old reports, unless others are deleting them. */
    write: `WITH old AS (
        SELECT minute, owner FROM ${report} WHERE minute < $4 ORDER BY minute, owner LIMIT 1000 FOR UPDATE SKIP LOCKED
      ), gone AS (DELETE FROM ${report} USING old WHERE report.minute = old.minute AND report.owner = old.owner)
      INSERT INTO ${report} (${all}) VALUES ($1, $2, $3) ON CONFLICT (minute, owner) DO UPDATE SET body = excluded.body`,
    /** A range, so that the order uses the index: for an owner without tasks, all running tasks would be scanned otherwise. */
    owners: `SELECT id, (SELECT count(*)::int FROM (
        SELECT 1 FROM ${task} WHERE task.state = 'running' AND task.owner >= living.id AND task.owner <= living.id
          AND task.waiting = 0 AND task.open_inputs IS NULL
        ORDER BY task.owner, task.id LIMIT $2) AS held), drain_until
      FROM (SELECT id, drain_until FROM ${owner} WHERE ${seemsToLive("$1::float8")}) AS living ORDER BY id`,
  };
}

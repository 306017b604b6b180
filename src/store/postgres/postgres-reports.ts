import type { LivingOwner, NodeReport, NodeReports } from "../admin-store.ts";
import { columnsOf, idOf, integer, integerOrNull, toStored } from "../row.ts";
import { reportOf, reportTable } from "../tables/tables.ts";
import type { Database } from "./database.ts";
import type { Names } from "./names.ts";
import { type Owners, seemsToLive } from "./ownership.ts";

interface ReportParts {
  readonly database: Pick<Database, "read">;
  readonly owners: Pick<Owners, "id" | "leaseMs">;
}

const at = columnsOf(["id", "running", "drainUntil"]);

/** The reports of a schema's owners. */
export class PostgresReports implements NodeReports {
  readonly #names: Names;
  readonly #sql: ReportStatements;
  readonly #open: () => ReportParts;

  constructor(names: Names, open: () => ReportParts) {
    this.#names = names;
    this.#sql = reportStatements(names);
    this.#open = open;
  }

  /** Writing twice does no harm. */
  async write({ minute, body }: Omit<NodeReport, "owner">, oldest: number): Promise<void> {
    const { database, owners } = this.#open();
    await database.read(this.#sql.write, [toStored(owners.id), minute, toStored(body), oldest]);
  }

  async between(first: number, last: number, limit: number): Promise<readonly NodeReport[]> {
    return reportsBetween(this.#open().database, this.#names, first, last, limit);
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

export async function reportsBetween(
  database: Pick<Database, "read">,
  names: Names,
  ...range: Parameters<NodeReports["between"]>
): Promise<readonly NodeReport[]> {
  return (await database.read(reportStatements(names).between, range)).map(reportOf);
}

/** The reports of processes, and the tasks that they run. */
export function reportStatements({ report, owner, task }: Names) {
  const all = reportTable.list();
  return {
    /** Also deletes old reports, unless others are deleting them. */
    write: `WITH old AS (
        SELECT minute, owner FROM ${report} WHERE minute < $4 ORDER BY minute, owner LIMIT 1000 FOR UPDATE SKIP LOCKED
      ), gone AS (DELETE FROM ${report} USING old WHERE report.minute = old.minute AND report.owner = old.owner)
      INSERT INTO ${report} (${all}) VALUES ($1, $2, $3) ON CONFLICT (minute, owner) DO UPDATE SET body = excluded.body`,
    between: `SELECT ${all} FROM ${report} WHERE minute BETWEEN $1 AND $2 ORDER BY minute DESC LIMIT $3`,
    /** A range, so that the order uses the index: for an owner without tasks, all running tasks would be scanned otherwise. */
    owners: `SELECT id, (SELECT count(*)::int FROM (
        SELECT 1 FROM ${task} WHERE task.state = 'running' AND task.owner >= living.id AND task.owner <= living.id
          AND task.waiting = 0 AND task.open_inputs IS NULL
        ORDER BY task.owner, task.id LIMIT $2) AS held), drain_until
      FROM (SELECT id, drain_until FROM ${owner} WHERE ${seemsToLive("$1::float8")}) AS living ORDER BY id`,
  };
}

export type ReportStatements = ReturnType<typeof reportStatements>;

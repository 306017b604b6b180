import type { LivingOwner, NodeReport, NodeReports } from "../node-reports.ts";
import { reportOf } from "../report-row.ts";
import { columnsOf, idOf, integer } from "../row.ts";
import { toStoredWithoutNul as toStored } from "../stored-text.ts";
import type { Database } from "./database.ts";
import type { Names } from "./names.ts";
import type { Owners } from "./owners.ts";
import { reportStatements, type ReportStatements } from "./report-sql.ts";

interface ReportParts {
  readonly database: Pick<Database, "read">;
  readonly owners: Pick<Owners, "id" | "leaseMs">;
}

const at = columnsOf(["id", "running"]);

/** The reports of a schema's owners. */
export class PostgresReports implements NodeReports {
  readonly #sql: ReportStatements;
  readonly #open: () => ReportParts;

  constructor(names: Names, open: () => ReportParts) {
    this.#sql = reportStatements(names);
    this.#open = open;
  }

  /** Writing twice does no harm. */
  async write({ minute, body }: Omit<NodeReport, "owner">, oldest: number): Promise<void> {
    const { database, owners } = this.#open();
    await database.read(this.#sql.write, [toStored(owners.id), minute, toStored(body), oldest]);
  }

  async between(first: number, last: number, limit: number): Promise<readonly NodeReport[]> {
    return (await this.#open().database.read(this.#sql.between, [first, last, limit])).map(reportOf);
  }

  async owners(most: number): Promise<readonly LivingOwner[]> {
    const { database, owners } = this.#open();
    const rows = await database.read(this.#sql.owners, [owners.leaseMs, most]);
    return rows.map((row) => ({ id: idOf(row), running: integer(row, at.running) }));
  }
}

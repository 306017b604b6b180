import type { NodeReport, NodeReports } from "../admin-store.ts";
import { reportOf } from "../tables/tables.ts";
import { idOf, toStored } from "../row.ts";
import type { OtherOwners } from "./sqlite-owners.ts";
import * as sql from "./admin-sql.ts";
import type { Statements } from "./statements.ts";
import type { OtherWrite } from "./writer-connection.ts";

/** The reports of one owner, on the write connection. */
export class SqliteReportTable {
  readonly #sql: Statements;
  readonly #owner: string;

  constructor(statements: Statements, owner: string) {
    this.#sql = statements;
    this.#owner = toStored(owner);
  }

  write({ minute, body, oldest }: OtherWrite<"report">): void {
    this.#sql.run(sql.upsertReport, this.#owner, minute, toStored(body));
    this.#sql.run(sql.deleteOldReports, oldest);
  }
}

/** The reports of owners, and the tasks that they run. */
export class SqliteReports {
  readonly #sql: Statements;

  constructor(statements: Statements) {
    this.#sql = statements;
  }

  between(first: number, last: number, limit: number): readonly NodeReport[] {
    return this.#sql.all(sql.selectReports, first, last, limit).map(reportOf);
  }

  /** The number of tasks that each owner runs, among the first `most` unfinished ones. */
  running(most: number): ReadonlyMap<string, number> {
    const running = new Map<string, number>();
    for (const row of this.#sql.rows(sql.selectRunningOwners).iterate(most)) {
      const owner = idOf(row);
      running.set(owner, (running.get(owner) ?? 0) + 1);
    }
    return running;
  }
}

interface OpenParts {
  readonly writer: { write(command: OtherWrite<"report">): Promise<unknown> };
  readonly others: Pick<OtherOwners, "living">;
}

/** The port of an open store. */
export function reportsOf(
  open: () => OpenParts,
  read: <T>(read: (reports: SqliteReports) => T) => Promise<T>,
): NodeReports {
  return {
    write: async (report, oldest) => {
      await open().writer.write({ type: "report", ...report, oldest });
    },
    between: (...query) => read((reports) => reports.between(...query)),
    owners: (most) =>
      read((reports) => {
        const running = reports.running(most);
        return open()
          .others.living()
          .map(({ id, drainUntil }) => ({ id, running: running.get(id) ?? 0, drainUntil }));
      }),
  };
}

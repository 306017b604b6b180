import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { NodeReport, NodeReports } from "../node-reports.ts";
import { reportOf } from "../report-row.ts";
import { idOf } from "../row.ts";
import { toStored } from "../stored-text.ts";
import type { OtherOwners } from "./other-owners.ts";
import * as sql from "./report-sql.ts";
import { prepareRows, type RowStatement } from "./row-statement.ts";
import type { ReportWrite } from "./writer-messages.ts";

/** The reports of one owner, on the write connection. */
export class SqliteReportTable {
  readonly #owner: string;
  readonly #upsert: StatementSync;
  readonly #deleteOld: StatementSync;

  constructor(db: DatabaseSync, owner: string) {
    this.#owner = toStored(owner);
    this.#upsert = db.prepare(sql.upsertReport);
    this.#deleteOld = db.prepare(sql.deleteOldReports);
  }

  write({ minute, body, oldest }: Omit<ReportWrite, "type">): void {
    this.#upsert.run(this.#owner, minute, toStored(body));
    this.#deleteOld.run(oldest);
  }
}

/** The reports of owners, and the tasks that they run. */
export class SqliteReports {
  readonly #select: RowStatement;
  readonly #selectRunning: RowStatement;

  constructor(db: DatabaseSync) {
    this.#select = prepareRows(db, sql.selectReports);
    this.#selectRunning = prepareRows(db, sql.selectRunningOwners);
  }

  between(first: number, last: number, limit: number): readonly NodeReport[] {
    return this.#select.all(first, last, limit).map(reportOf);
  }

  /** The number of tasks that each owner runs, among the first `most` unfinished ones. */
  running(most: number): ReadonlyMap<string, number> {
    const running = new Map<string, number>();
    for (const row of this.#selectRunning.iterate(most)) {
      const owner = idOf(row);
      running.set(owner, (running.get(owner) ?? 0) + 1);
    }
    return running;
  }
}

interface OpenParts {
  readonly writer: { write(command: ReportWrite): Promise<unknown> };
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
          .map((id) => ({ id, running: running.get(id) ?? 0 }));
      }),
  };
}

import { inClear } from "../../../src/store/row.ts";
import type { Pool } from "pg";
import { openPool } from "../../../src/store/postgres/connections.ts";
import { Database, type SqlValue } from "../../../src/store/postgres/database.ts";
import { migrateSchema } from "../../../src/store/postgres/migrate.ts";
import { namesIn, type Names } from "../../../src/store/postgres/names.ts";
import { writeStatements, type WriteStatements } from "../../../src/store/postgres/task-sql.ts";
import { journalTable } from "../../../src/store/tables/of-task.ts";
import { byColumn } from "../../../src/store/tables/statements.ts";
import { rowOf } from "../../../src/store/tables/task.ts";
import type { JournalEntry } from "../../../src/task/journal.ts";
import type { TaskRecord } from "../../../src/task/record.ts";
import { FreshSchema } from "../../postgres/test-database.ts";

const patienceMs = 600_000;
const nothing: JournalEntry = {
  key: "",
  kind: "step",
  method: null,
  requestHash: null,
  deadlineAt: null,
  tries: 0,
  begunAt: null,
  doneAt: null,
  doneVersion: null,
  request: null,
  value: null,
  error: null,
};

/** A schema of tasks that are put there without a store. */
export class SomeSchema implements AsyncDisposable {
  readonly pool: Pool;
  readonly database: Database;
  readonly names: Names;
  readonly #fresh: FreshSchema;
  readonly #sql: WriteStatements;
  #places = 0;

  private constructor(fresh: FreshSchema, pool: Pool) {
    this.#fresh = fresh;
    this.pool = pool;
    this.names = namesIn(fresh.schema);
    this.database = new Database(this.pool, patienceMs);
    this.#sql = writeStatements(this.names);
  }

  static async create(): Promise<SomeSchema> {
    const fresh = await FreshSchema.inSharedDatabase();
    const pool = await openPool({ url: fresh.url, max: 2, timeoutMs: patienceMs, isPatient: true });
    const schema = new SomeSchema(fresh, pool);
    await migrateSchema(schema.database, schema.names);
    return schema;
  }

  async run(sql: string, values: readonly SqlValue[] = []): Promise<void> {
    await this.database.query(sql, values);
  }

  async put(...tasks: readonly TaskRecord[]): Promise<void> {
    await this.database.query(this.#sql.insertTasks, byColumn(tasks.map((task) => rowOf(task, inClear))));
  }

  async putEntry(taskId: string, entry: Partial<JournalEntry>): Promise<void> {
    const row = journalTable.values(taskId, { ...nothing, ...entry, place: this.#places++ }, inClear);
    await this.database.query(this.#sql.upsertJournal, byColumn([row]));
  }

  async putOwner(id: string, handlers: string, retired = 0): Promise<void> {
    await this.run(
      `INSERT INTO ${this.names.owner} (id, pid, host, since, handlers, lease_until, retired)
        VALUES ($1, 1, 'host', clock_timestamp(), $2, clock_timestamp(), $3)`,
      [id, handlers, retired],
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database.close();
    await this.#fresh.drop();
  }
}

import { Client } from "pg";
import { OwnServer } from "../../test/postgres/own-server.ts";
import type { StoredPage } from "./proof.ts";

/** Where the nodes keep their tasks: a schema of the demo's own. */
export class ClusterDatabase {
  readonly url: string;
  readonly schema: string;
  readonly #own: OwnServer | undefined;

  private constructor(url: string, schema: string, own: OwnServer | undefined) {
    this.url = url;
    this.schema = schema;
    this.#own = own;
  }

  /** In the database of the URL, or else on a Postgres that is started for it. */
  static async open(url: string | undefined): Promise<ClusterDatabase> {
    const schema = `holdfast_demo_${process.pid}`;
    if (url !== undefined) return new ClusterDatabase(url, schema, undefined);
    const own = await OwnServer.start();
    return new ClusterDatabase(own.url, schema, own);
  }

  get isOwn(): boolean {
    return this.#own !== undefined;
  }

  /** The steps of tasks, by the number of each: read without Holdfast, as evidence. */
  async pages(taskIds: readonly string[]): Promise<readonly StoredPage[]> {
    const sql = `SELECT task_id, key, value FROM ${this.schema}.journal WHERE task_id = ANY($1) AND done_at IS NOT NULL`;
    const rows = await this.#query<{ task_id: string; key: string; value: string }>(sql, [taskIds]);
    return rows.map(({ task_id, key, value }) => {
      const [, page] = JSON.parse(key) as ["page", number];
      return { book: taskIds.indexOf(task_id) + 1, page, pid: Number(value) };
    });
  }

  /** Removes everything that the demo made. */
  async close(): Promise<void> {
    if (this.#own !== undefined) return this.#own.end();
    await this.#query(`DROP SCHEMA IF EXISTS ${this.schema} CASCADE`, []);
  }

  async #query<Row extends object>(sql: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const client = new Client({ connectionString: this.url });
    await client.connect();
    try {
      const { rows } = await client.query<Row>(sql, [...values]);
      return rows;
    } finally {
      await client.end();
    }
  }
}

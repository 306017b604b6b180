import { Client } from "pg";
import { freshName, sharedDatabase } from "./test-database.ts";

/** Schemas for stores of one test after the other: to empty one takes a tenth of the time in which another one is made. */
export class EmptiedSchemas implements AsyncDisposable {
  readonly #free: string[] = [];
  readonly #client: Client;
  readonly url: string;

  private constructor(url: string, client: Client) {
    this.url = url;
    this.#client = client;
  }

  static async inSharedDatabase(): Promise<EmptiedSchemas> {
    const url = await sharedDatabase();
    const client = new Client({ connectionString: url });
    await client.connect();
    return new EmptiedSchemas(url, client);
  }

  /** One without rows, or one that is not there yet. */
  take(): string {
    return this.#free.pop() ?? freshName();
  }

  /** Nobody has a store in it any more. */
  async giveBack(schema: string): Promise<void> {
    const { rows } = await this.#client.query<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = $1 and tablename <> 'migration'",
      [schema],
    );
    const statements = rows.map(({ name }) => `delete from ${schema}.${name}`);
    await this.#client.query(statements.join(";"));
    this.#free.push(schema);
  }

  /** Lets the lease of an owner be over, as it is some time after its process has died. */
  async endLease(schema: string, owner: string): Promise<void> {
    await this.#client.query(`update ${schema}.owner set lease_until = '-infinity' where id = $1`, [owner]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const schema of this.#free) await this.#client.query(`drop schema ${schema} cascade`);
    await this.#client.end();
  }
}

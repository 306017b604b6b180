import type { Pool, PoolClient, QueryArrayResult } from "pg";
import { HoldfastError } from "../../task/fault.ts";
import type { Row } from "../row.ts";
import { isBroken, isConnectionFault, storeFailed } from "./postgres-error.ts";

/** What a statement is given: arrays become arrays of the database. */
export type SqlValue = string | number | null | readonly (string | number | null)[];

/** Something that runs one statement at a time. */
export interface Queries {
  /** Rows are arrays. Statements that are not waited for are sent together. */
  query(sql: string, values?: readonly SqlValue[]): Promise<Row[]>;
}

/** How long a transaction may wait for locks of others, and for its own process (ms): a process that is stopped holds nobody up for longer. */
const lockTimeoutMs = 2_000;
const idleTimeoutMs = 5_000;

/** How many connections in turn may be found to have broken. */
const mostBroken = 10;

/** The connections of a store to its database. */
export class Database implements Queries {
  readonly #pool: Pool;
  readonly #timeoutMs: number;

  constructor(pool: Pool, timeoutMs: number) {
    this.#pool = pool;
    this.#timeoutMs = timeoutMs;
    // An idle connection that breaks is replaced; whoever uses one hears of it by itself.
    pool.on("error", () => undefined);
    pool.on("connect", (client) => client.on("error", () => undefined));
  }

  /** One statement, which is a transaction of its own. Rejects with `store_failed` where the database does not answer. */
  async query(sql: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    try {
      return await this.#query(sql, values);
    } catch (error) {
      throw storeFailed(error);
    }
  }

  /** The same of one that may run twice: where the connection had broken, another one is asked, and all of a pool may have. */
  async read(sql: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    for (let broken = 0; ; broken++) {
      try {
        return await this.#query(sql, values);
      } catch (error) {
        if (broken === mostBroken || !isBroken(error)) throw storeFailed(error);
      }
    }
  }

  /** Begins a transaction, whose `BEGIN` is sent with its first statements. */
  async begin(): Promise<Transaction> {
    try {
      return new Transaction(await this.#pool.connect(), this.#timeoutMs);
    } catch (error) {
      throw storeFailed(error);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #query(sql: string, values: readonly SqlValue[]): Promise<Row[]> {
    return rowsOf(await this.#pool.query({ text: sql, values: [...values], rowMode: "array" }));
  }
}

/** Rejections of `commit` after which nobody knows whether the transaction was committed. */
export class LostCommit extends HoldfastError {
  constructor(cause: unknown) {
    super("store_failed", "The connection to the database was lost while it committed.", { cause });
  }
}

/** A transaction on a connection of its own. It ends with `commit` or `rollback`. */
export class Transaction implements Queries {
  readonly #client: PoolClient;
  readonly #sent: Promise<unknown>[] = [];
  #over = false;

  constructor(client: PoolClient, timeoutMs: number) {
    this.#client = client;
    // A role or a database may have another level for its default, with which statements do not see what others did while they waited for locks.
    const begin = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = ${lockTimeoutMs}; SET LOCAL idle_in_transaction_session_timeout = ${idleTimeoutMs}; SET LOCAL statement_timeout = ${timeoutMs}`;
    void this.#send(client.query(begin));
  }

  /** What fails fails the commit, too, so that nobody has to wait for it. */
  query(sql: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    const statement = { text: sql, values: [...values], rowMode: "array" as const };
    const rows = this.#send(this.#client.query(statement)).then(rowsOf);
    rows.catch(() => undefined);
    return rows;
  }

  /** Rejects with what went wrong first in the transaction, which then has done nothing; with `LostCommit` where that is not known. */
  async commit(): Promise<void> {
    const before = Promise.allSettled(this.#sent);
    const commit = this.#send(this.#client.query("COMMIT"));
    try {
      for (const each of await before) if (each.status === "rejected") throw each.reason;
      const { command } = await commit;
      if (command !== "COMMIT") throw new Error(`COMMIT was answered with ${command}`);
      this.#release();
    } catch (error) {
      await commit.catch(() => undefined);
      this.#release(error);
      throw isConnectionFault(error) ? new LostCommit(error) : error;
    }
  }

  async rollback(): Promise<void> {
    if (this.#over) return;
    try {
      await Promise.allSettled(this.#sent);
      await this.#send(this.#client.query("ROLLBACK"));
      this.#release();
    } catch (error) {
      this.#release(error);
    }
  }

  #send<Result>(sent: Promise<Result>): Promise<Result> {
    sent.catch(() => undefined); // `commit` says it
    this.#sent.push(sent);
    return sent;
  }

  #release(error?: unknown): void {
    if (this.#over) return;
    this.#over = true;
    this.#client.release(error !== undefined && isConnectionFault(error));
  }
}

function rowsOf({ rows }: QueryArrayResult): Row[] {
  return rows;
}

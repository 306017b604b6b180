import type { Pool, PoolClient, QueryArrayResult } from "pg";
import { HoldfastError } from "../../task/fault.ts";
import { Codecs } from "../cipher.ts";
import type { Row } from "../row.ts";
import {
  isBroken,
  isConnectionFault,
  isWrongServer,
  refuseStandby,
  sqlState,
  storeFailed,
  transactionFailed,
} from "./postgres-error.ts";
import type { Servers } from "./servers.ts";

/** A value for a statement: arrays become arrays of the database. */
export type SqlValue = string | number | null | readonly (string | number | null)[];

/** Runs one statement at a time. */
export interface Queries {
  /** Rows are arrays. Statements that are not awaited are sent together. */
  query(sql: string, values?: readonly SqlValue[]): Promise<Row[]>;
}

/** How long a transaction may wait for locks, and for its own process (ms): a stopped process blocks others no longer than that. */
const lockTimeoutMs = 2_000;
const idleTimeoutMs = 5_000;

/** How many broken connections in a row are tolerated. */
const mostBroken = 10;

/**
 * A store's connections to its database. A failover may leave open connections to a server that only reads, so each one is asked before its
 * first use, and all of them again once a write was refused by such a server.
 */
export class Database implements Queries {
  readonly #pool: Pool;
  readonly #timeoutMs: number;
  readonly #servers: Pick<Servers, "each"> | undefined;
  /** The connections whose servers took writes when they were asked. */
  #asked = new WeakSet<PoolClient>();
  /** How texts are stored. */
  readonly codecs = new Codecs();

  /** Without `servers`, there is one. */
  constructor(pool: Pool, timeoutMs: number, servers?: Pick<Servers, "each">) {
    this.#pool = pool;
    this.#timeoutMs = timeoutMs;
    this.#servers = servers;
    // A broken idle connection is replaced; a user of a broken connection gets the error anyway.
    pool.on("error", () => undefined);
    pool.on("connect", (client) => client.on("error", () => undefined));
  }

  /** Runs one statement, as a separate transaction. Rejects with `store_failed` if the database does not answer. */
  async query(sql: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    try {
      return await this.#query(sql, values);
    } catch (error) {
      throw storeFailed(error);
    }
  }

  /** The same for a statement that may run twice: if the connection had broken, another one is tried, as all of a pool may have. */
  async read(sql: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    for (let broken = 0; ; broken++) {
      try {
        return await this.#query(sql, values);
      } catch (error) {
        const again = isWrongServer(error) ? broken === 0 : broken < mostBroken && isBroken(error);
        if (!again) throw storeFailed(error);
      }
    }
  }

  /** Begins a transaction. Its `BEGIN` is sent with its first statements. */
  async begin(): Promise<Transaction> {
    try {
      return new Transaction(await this.#connect(), this.#timeoutMs, (error) => this.#failed(error));
    } catch (error) {
      throw storeFailed(error);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #query(sql: string, values: readonly SqlValue[]): Promise<Row[]> {
    const client = await this.#connect();
    try {
      const result = await client.query({ text: sql, values: [...values], rowMode: "array" as const });
      client.release();
      return rowsOf(result);
    } catch (error) {
      client.release(this.#failed(error));
      throw error;
    }
  }

  #connect(): Promise<PoolClient> {
    return this.#servers?.each(() => this.#connectOnce()) ?? this.#connectOnce();
  }

  async #connectOnce(): Promise<PoolClient> {
    const client = await this.#pool.connect();
    if (this.#asked.has(client)) return client;
    try {
      await refuseStandby(client);
    } catch (error) {
      client.release(true);
      throw error;
    }
    this.#asked.add(client);
    return client;
  }

  /** Whether the error of a statement means that its connection is of no use any more. */
  #failed(error: unknown): boolean {
    if (!isWrongServer(error)) return isConnectionFault(error);
    this.#asked = new WeakSet();
    // Those that nobody uses now would stay open for a while.
    for (let idle = this.#pool.idleCount; idle > 0; idle--)
      this.#connectOnce().then(
        (client) => client.release(),
        () => undefined,
      );
    return true;
  }
}

/** The SQLSTATE of notices that are no warnings. */
const successful = "00000";

/** `commit` rejects with this if it is unknown whether the transaction was committed. */
export class LostCommit extends HoldfastError {
  constructor(cause: unknown) {
    super("store_failed", "The connection to the database was lost during a commit.", { cause });
  }
}

/** A transaction on a separate connection. It ends with `commit` or `rollback`. */
export class Transaction implements Queries {
  readonly #client: PoolClient;
  /** Whether an error means that the connection is of no use any more. */
  readonly #failed: (error: unknown) => boolean;
  readonly #sent: Promise<unknown>[] = [];
  /** The first error, after which every statement fails. */
  #cause: unknown;
  #over = false;

  constructor(client: PoolClient, timeoutMs: number, failed: (error: unknown) => boolean) {
    this.#client = client;
    this.#failed = failed;
    // A role or database may default to another level, at which statements do not see what others did while they waited for locks.
    const begin = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = ${lockTimeoutMs}; SET LOCAL idle_in_transaction_session_timeout = ${idleTimeoutMs}; SET LOCAL statement_timeout = ${timeoutMs}`;
    void this.#send(client.query(begin));
  }

  /** A failed statement also fails the commit, so it need not be awaited. */
  query(sql: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    const statement = { text: sql, values: [...values], rowMode: "array" as const };
    const rows = this.#send(this.#client.query(statement)).then(rowsOf, (error: unknown) => {
      throw sqlState(error) === transactionFailed ? (this.#cause ?? error) : error;
    });
    rows.catch(() => undefined);
    return rows;
  }

  /** Rejects with the first error of the transaction, which then has changed nothing; with `LostCommit` if that is unknown. */
  async commit(): Promise<void> {
    const before = Promise.allSettled(this.#sent);
    let warning: unknown;
    const onNotice = (notice: { readonly code: string | undefined }): void => {
      if (notice.code !== successful) warning = notice;
    };
    this.#client.on("notice", onNotice);
    const commit = this.#send(this.#client.query("COMMIT")).finally(() =>
      this.#client.off("notice", onNotice),
    );
    try {
      for (const each of await before) if (each.status === "rejected") throw each.reason;
      const { command } = await commit;
      if (command !== "COMMIT") throw new Error(`COMMIT was answered with ${command}`);
      // Somebody cancelled the wait for a synchronous standby: the commit is on this server, and perhaps nowhere else.
      if (warning !== undefined) throw new LostCommit(warning);
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
    sent.catch((error: unknown) => (this.#cause ??= error)); // `commit` reports it
    this.#sent.push(sent);
    return sent;
  }

  #release(error?: unknown): void {
    if (this.#over) return;
    this.#over = true;
    this.#client.release(error !== undefined && this.#failed(error));
  }
}

function rowsOf({ rows }: QueryArrayResult): Row[] {
  return rows;
}

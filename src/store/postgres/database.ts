import type { Pool, PoolClient, QueryArrayResult } from "pg";
import { HoldfastError } from "../../task/fault.ts";
import { Codecs } from "../cipher.ts";
import type { Row } from "../row.ts";
import {
  assertSendable,
  backendOf,
  isBroken,
  isConnectionFault,
  isStatementLost,
  isWrongServer,
  refuseStandby,
  storeFailed,
} from "./postgres-error.ts";
import { StatementNames } from "./names.ts";
import type { Servers } from "./work-sharing.ts";

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

export interface DatabaseOptions {
  /** Left out: there is one. */
  readonly servers?: Pick<Servers, "each">;
  /** Only read from, so that its servers may be standbys. */
  readonly isReplica?: boolean;
  /** Whether its statements have the time limits of transactions, also those outside of any. */
  readonly limitsAll?: boolean;
  /** Whether connections keep statements. Undefined: those that lead to the server itself, and not to a pooler. */
  readonly prepares?: boolean | undefined;
}

/** What is known of a connection. */
interface Session {
  /** Whether statements at its begin hold until its end: nothing shares it with others. */
  readonly isDirect: boolean;
  readonly prepares: boolean;
  /** Of the statements that it keeps. */
  generation: number;
}

/**
 * A store's connections to its database. A failover may leave open connections to a server that only reads, so each one is asked before its
 * first use, and all of them again once a write was refused by such a server.
 */
export class Database implements Queries {
  readonly #pool: Pool;
  readonly #timeoutMs: number;
  readonly #options: DatabaseOptions;
  readonly #statements = new StatementNames();
  /** The connections whose servers took writes when they were asked. */
  #sessions = new WeakMap<PoolClient, Session>();
  /** How texts are stored. */
  readonly codecs = new Codecs();

  constructor(pool: Pool, timeoutMs: number, options: DatabaseOptions = {}) {
    this.#pool = pool;
    this.#timeoutMs = timeoutMs;
    this.#options = options;
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

  /**
   * Runs one statement as a transaction of its own, within the limits of transactions. Rejects with `LostCommit` if it is unknown whether it
   * was committed.
   */
  async commit(sql: string, values: readonly SqlValue[]): Promise<void> {
    const [client, session] = await this.#connect();
    const transaction = this.#transaction(client, session, session.isDirect);
    void transaction.query(sql, values);
    await transaction.commit();
  }

  /** Begins a transaction. Its `BEGIN` is sent with its first statements. */
  async begin(): Promise<Transaction> {
    try {
      return this.#transaction(...(await this.#connect()));
    } catch (error) {
      throw storeFailed(error);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #query(sql: string, values: readonly SqlValue[], mayRepeat = true): Promise<Row[]> {
    const [client, session] = await this.#connect();
    try {
      const result = await client.query(statement(sql, values, this.#nameOf(sql, session)));
      client.release();
      return rowsOf(result);
    } catch (error) {
      client.release(this.#failed(error));
      if (mayRepeat && isStatementLost(error)) return this.#query(sql, values, false);
      throw error;
    }
  }

  /** Rows were written for so many commands: plans of statements may no longer fit. */
  wrote(commands: number): void {
    this.#statements.wrote(commands);
  }

  #transaction(client: PoolClient, session: Session, isOneStatement = false): Transaction {
    return new Transaction({
      client,
      begin: isOneStatement
        ? undefined
        : beginWith(session.isDirect ? "" : limits(this.#timeoutMs, "SET LOCAL")),
      nameOf: (sql) => this.#nameOf(sql, session),
      failed: (error) => this.#failed(error),
    });
  }

  /** While a connection is in use, names may change: before its next use it gives up all that it keeps, also under new names. */
  #nameOf(sql: string, { prepares, generation }: Session): string | undefined {
    return prepares && generation === this.#statements.generation ? this.#statements.nameOf(sql) : undefined;
  }

  #connect(): Promise<readonly [PoolClient, Session]> {
    return this.#options.servers?.each(() => this.#connectOnce()) ?? this.#connectOnce();
  }

  async #connectOnce(): Promise<readonly [PoolClient, Session]> {
    const client = await this.#pool.connect();
    try {
      const session = this.#sessions.get(client) ?? (await this.#begin(client));
      this.#sessions.set(client, session);
      const { generation } = this.#statements;
      if (session.prepares && session.generation !== generation)
        client.query("DEALLOCATE ALL").catch(() => undefined);
      session.generation = generation;
      return [client, session];
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  /** A pooler gives a connection a number of its own. */
  async #begin(client: PoolClient): Promise<Session> {
    const pid = await (this.#options.isReplica === true ? backendOf(client) : refuseStandby(client));
    const { processID } = client as unknown as { readonly processID: number | null };
    const isDirect = pid !== undefined && pid === processID;
    const { limitsAll = false, prepares = isDirect } = this.#options;
    if (isDirect && limitsAll)
      await client.query(
        `${limits(this.#timeoutMs, "SET")}; SET default_transaction_isolation = 'read committed'; SET array_nulls = on`,
      );
    return { isDirect: isDirect && limitsAll, prepares, generation: this.#statements.generation };
  }

  /** Whether the error of a statement means that its connection is of no use any more. */
  #failed(error: unknown): boolean {
    if (!isWrongServer(error)) return isConnectionFault(error) || isStatementLost(error);
    this.#sessions = new WeakMap();
    // Those that nobody uses now would stay open for a while.
    for (let idle = this.#pool.idleCount; idle > 0; idle--)
      this.#connectOnce().then(
        ([client]) => client.release(),
        () => undefined,
      );
    return true;
  }
}

/** A role or database may default to another level, at which statements do not see what others did while they waited for locks. */
function beginWith(setLimits: string): string {
  const begin = "BEGIN ISOLATION LEVEL READ COMMITTED";
  return setLimits === "" ? begin : `${begin}; ${setLimits}`;
}

function limits(timeoutMs: number, set: "SET" | "SET LOCAL"): string {
  return [
    `${set} lock_timeout = ${lockTimeoutMs}`,
    `${set} idle_in_transaction_session_timeout = ${idleTimeoutMs}`,
    `${set} statement_timeout = ${timeoutMs}`,
  ].join("; ");
}

/** A text without values may be several statements, which cannot be kept. */
function statement(text: string, values: readonly SqlValue[], named: string | undefined) {
  assertSendable(values);
  const name = values.length === 0 ? undefined : named;
  return { text, values: [...values], rowMode: "array" as const, ...(name !== undefined && { name }) };
}

/** The SQLSTATE of notices that are no warnings. */
const successful = "00000";

/** `commit` rejects with this if it is unknown whether the transaction was committed. */
export class LostCommit extends HoldfastError {
  constructor(cause: unknown) {
    super("store_failed", "The connection to the database was lost during a commit.", { cause });
  }
}

interface TransactionSetup {
  readonly client: PoolClient;
  /** Undefined for a single statement, which is a transaction by itself. */
  readonly begin: string | undefined;
  readonly nameOf: (sql: string) => string | undefined;
  /** Whether an error means that the connection is of no use any more. */
  readonly failed: (error: unknown) => boolean;
}

/** A transaction on a separate connection. It ends with `commit` or `rollback`. */
export class Transaction implements Queries {
  readonly #client: PoolClient;
  readonly #setup: TransactionSetup;
  readonly #sent: Promise<unknown>[] = [];
  /** The first error, after which every statement fails. */
  #cause: unknown;
  /** Why a statement was not sent. */
  #unsent: HoldfastError | undefined;
  #over = false;

  constructor(setup: TransactionSetup) {
    this.#setup = setup;
    this.#client = setup.client;
    if (setup.begin !== undefined) void this.#send(this.#client.query(setup.begin));
  }

  /** A failed statement also fails the commit, so it need not be awaited. */
  query(sql: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    const rows = this.#send(this.#ask(sql, values)).then(rowsOf, (error: unknown) => {
      throw this.#cause ?? error;
    });
    rows.catch(() => undefined);
    return rows;
  }

  /** The database knows nothing of a statement that could not be sent, and would commit the others. */
  #ask(sql: string, values: readonly SqlValue[]): Promise<QueryArrayResult> {
    try {
      return this.#client.query(statement(sql, values, this.#setup.nameOf(sql)));
    } catch (thrown) {
      const error = storeFailed(thrown);
      this.#unsent = error;
      return Promise.reject(error);
    }
  }

  /** Rejects with the first error of the transaction, which then has changed nothing; with `LostCommit` if that is unknown. */
  async commit(): Promise<void> {
    if (this.#unsent !== undefined) {
      await this.rollback();
      throw this.#unsent;
    }
    const before = Promise.allSettled(this.#sent);
    let warning: unknown;
    const onNotice = (notice: { readonly code: string | undefined }): void => {
      if (notice.code !== successful) warning = notice;
    };
    this.#client.on("notice", onNotice);
    const isOneStatement = this.#setup.begin === undefined;
    const end = isOneStatement ? this.#sent.at(-1) : this.#send(this.#client.query("COMMIT"));
    const commit = Promise.resolve(end).finally(() => this.#client.off("notice", onNotice));
    try {
      for (const each of await before) if (each.status === "rejected") throw each.reason;
      const ended = (await commit) as QueryArrayResult;
      if (!isOneStatement && ended.command !== "COMMIT")
        throw new Error(`COMMIT was answered with ${ended.command}`);
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
    this.#client.release(error !== undefined && this.#setup.failed(error));
  }
}

function rowsOf({ rows }: QueryArrayResult): Row[] {
  return rows;
}

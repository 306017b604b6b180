// Who owns a task, although servers fail over and networks break. What always holds:
//
// 1. Doubt is resolved by a replicated write, never by a read: a commit whose answer was lost counts once a mark that conflicts with it was
//    committed, under the durability that the database is set to (`Commits`).
// 2. Nobody is declared dead for want of renewals unless somebody shows that the database took renewals all the while: an owner whose own came
//    without a gap for one lease. So after an outage or a failover, and for a process that has just started, each owner has one lease to
//    come back. Who closes its store is gone at once.
// 3. A step, a handler or a webhook begins only inside a lease that holds by this machine's own clocks, with a margin (`holds`). Otherwise the
//    runtime renews it first, and looks whether the task is still its own.
// 4. Each row that says "running, owned by me" has a run here, or is released within one lease: the runtime compares them (`held`).
// 5. What a process knows of rows without reading them counts only while the database has the last group that the process committed
//    (`Commits.last`). Its groups come one after another, so a failover that undid any of them undid the last one.
//
// A writer locks its owner's row, in a mode that renewals do not wait for, and whoever declares it dead locks the row alone: so no group of an
// owner that was declared dead is committed after that. No advisory lock and no state of a connection is part of this.

import { hostname } from "node:os";
import type { HandlerName, StoreOwner } from "../../task/queue.ts";
import { handlersIn, handlersText } from "../admin-store.ts";
import { StoreLost } from "../lost-store.ts";
import type { HeldToken, Renewal } from "../store.ts";
import { columnsOf, idOf, integer, integerOrNull, type Row, text, textOrStored, toStored } from "../row.ts";
import type { Database, Queries, SqlValue, Transaction } from "./database.ts";
import type { Names } from "./names.ts";

/** A process that has, or had, the store open. */
export interface KnownOwner extends StoreOwner {
  /** Whether its lease is valid, by the database's clock. */
  readonly holds: boolean;
  /** False once it may be declared dead. */
  readonly lives: boolean;
  /** True once its tasks went to others. */
  readonly retired: boolean;
  /** By when it is to have ended what it works on (epoch ms); null: it takes new work. */
  readonly drainUntil: number | null;
}

/** The part of a lease within which nothing new begins: what others see of a renewal may be a little older. */
const margin = 0.2;

/** The processes that have the store open: each has a lease, which it renews. */
export class Owners {
  readonly sql: OwnerStatements;
  readonly #database: Database;
  readonly #leases: Pick<Database, "read">;
  readonly #schema: string;
  #own: StoreOwner;
  readonly leaseMs: number;
  /** When the last renewal that was acknowledged was sent. */
  #leased = { elapsed: -Infinity, at: -Infinity };
  /** Whether nobody else could have the store open, at the last renewal: also nobody whose lease is over, who may go on. */
  isAlone = false;

  /** Renewals have a connection of their own, `leases`: nothing else delays them. */
  constructor(
    database: Database,
    names: Names,
    own: StoreOwner,
    leaseMs: number,
    leases: Pick<Database, "read"> = database,
  ) {
    this.sql = ownerStatements(names);
    this.#database = database;
    this.#leases = leases;
    this.#schema = names.schema;
    this.#own = own;
    this.leaseMs = leaseMs;
  }

  get id(): string {
    return this.#own.id;
  }

  /** Whether the lease holds. A clock that stands still while the machine sleeps, and one that is set, are each wrong in a way of their own. */
  get holds(): boolean {
    const { elapsed, at } = this.#leased;
    return Math.max(performance.now() - elapsed, Date.now() - at) < this.leaseMs * (1 - margin);
  }

  /** Makes the process an owner, for the first time or again. */
  async register(): Promise<void> {
    const { id, handlers } = this.#own;
    const sent = now();
    const values = [id, process.pid, hostname(), handlersText(handlers), this.leaseMs];
    await this.#database.read(this.sql.register, values);
    this.#leased = sent;
  }

  /** Sets the owner's handlers, which a later `register` keeps. */
  async setHandlers(handlers: readonly HandlerName[]): Promise<void> {
    this.#own = { ...this.#own, handlers };
    await this.write((queries) => queries.query(this.sql.setHandlers, [this.id, handlersText(handlers)]));
  }

  /** Sends statements that depend on nothing in a transaction. Rejects with `store_lost` if others considered this owner dead. */
  async write<T>(send: (queries: Queries) => Promise<T>): Promise<T> {
    return this.#fenced(async (transaction) => {
      const [result] = await Promise.all([send(transaction), transaction.commit()]);
      return result;
    });
  }

  /** The same for statements that depend on the rows of others: the commit follows the last one. */
  async writeInSteps<T>(steps: (queries: Queries) => Promise<T>): Promise<T> {
    return this.#fenced(async (transaction) => {
      const result = await steps(transaction);
      await transaction.commit();
      return result;
    });
  }

  async #fenced<T>(write: (transaction: Transaction) => Promise<T>): Promise<T> {
    const transaction = await this.#database.begin();
    try {
      const [row] = await transaction.query(this.sql.fence, [this.id, null, []]);
      if (row === undefined) throw new StoreLost(`schema ${this.#schema}`, true);
      return await write(transaction);
    } catch (error) {
      await transaction.rollback();
      throw error;
    }
  }

  async renew(): Promise<Renewal> {
    const read: Queries = { query: (sql, values) => this.#leases.read(sql, values) };
    const sent = now();
    const [renewed] = await read.query(this.sql.renew, [this.id, this.leaseMs]);
    if (renewed !== undefined) this.#leased = sent;
    const [all, pausedTools] = await Promise.all([this.all(read), read.query(this.sql.paused)]);
    const others = all.filter(({ id }) => id !== this.id);
    this.isAlone = others.every(({ retired }) => retired);
    const gone = others.filter(({ lives }) => !lives);
    const drainUntil = all.find(({ id }) => id === this.id)?.drainUntil ?? null;
    const paused = pausedTools.map((row) => textOrStored(row, pausedAt.tool));
    return {
      ...(paused.length > 0 && { paused }),
      ...(drainUntil !== null && { drainUntil }),
      ...(renewed && { now: integer(renewed, renewedAt.now) }),
      held: renewed !== undefined,
      gone: gone.map(({ id }) => id),
      others: others.filter(({ holds }) => holds).length,
    };
  }

  /** A page of the tasks that run under this owner, by id. */
  async held(after: string, limit: number): Promise<readonly HeldToken[]> {
    const rows = await this.#database.read(this.sql.held, [this.id, toStored(after), limit]);
    return rows.map((row) => ({ id: idOf(row), token: text(row, heldAt.token) }));
  }

  /** Counts as dead at once. */
  async leave(): Promise<void> {
    await this.#database.query(this.sql.leave, [this.id]);
  }

  /**
   * Lets a transaction write, if `last`, the mark of the owner's last group, is there or null, and takes the shared locks of these counts.
   * Undefined if others considered this owner dead.
   */
  async fence(queries: Queries, { last, counts, asksForOwners }: Fencing): Promise<Fenced | undefined> {
    const values = [this.id, last, counts];
    const rows = asksForOwners
      ? await queries.query(this.sql.fencedOwners, [...values, this.leaseMs])
      : await queries.query(this.sql.fence, values);
    const [row] = rows;
    if (row === undefined) return undefined;
    const owners = asksForOwners ? rows.map((each) => ownerOf(each.slice(fenceAt.length))) : [];
    return { xid: String(row[0]), hasLast: row[1] === 1, owners };
  }

  async all(queries: Queries): Promise<readonly KnownOwner[]> {
    return (await queries.query(this.sql.all, [this.leaseMs])).map(ownerOf);
  }
}

/** The columns of a fence. */
const fenceAt = ["xid", "has_mark", "locks"];

interface Fencing {
  readonly last: string | null;
  readonly counts: readonly string[];
  readonly asksForOwners: boolean;
}

interface Fenced {
  /** The id of the transaction. */
  readonly xid: string;
  readonly hasLast: boolean;
  /** None unless they were asked for. */
  readonly owners: readonly KnownOwner[];
}

function now(): { readonly elapsed: number; readonly at: number } {
  return { elapsed: performance.now(), at: Date.now() };
}

const at = columnsOf(["id", "handlers", "retired", "drainUntil", "holds", "lives"]);
const heldAt = columnsOf(["id", "token"]);
const renewedAt = columnsOf(["now"]);
const pausedAt = columnsOf(["tool"]);

function ownerOf(row: Row): KnownOwner {
  return {
    id: text(row, at.id),
    handlers: handlersIn(text(row, at.handlers)),
    retired: integer(row, at.retired) !== 0,
    drainUntil: integerOrNull(row, at.drainUntil),
    holds: integer(row, at.holds) !== 0,
    lives: integer(row, at.lives) !== 0,
  };
}

const holds = "retired = 0 AND lease_until >= clock_timestamp()";

/** Whether an owner lives, for those who only look: its lease is valid, or the database has restarted since it could last renew it. */
export const seemsToLive = (lease: string): string => `retired = 0 AND (lease_until >= clock_timestamp() OR
  (lease_until > '-infinity' AND pg_postmaster_start_time() > clock_timestamp() - ${lease} * interval '1 ms'))`;

/** The processes that have a schema open, for messages. */
export function living({ owner }: Names): string {
  return `SELECT pid, host, since::text FROM ${owner} WHERE ${seemsToLive("$1::float8")} ORDER BY since`;
}

const until = (lease: string): string => `clock_timestamp() + ${lease} * interval '1 ms'`;

/** Whether an owner's group with this mark is in the database. */
export const hasMarkIn = (committed: string, owner: string, mark: string): string =>
  `EXISTS (SELECT FROM ${committed} WHERE owner = ${owner} AND xid = ${mark})`;

/** Statements about the processes that have the store open. */
export function ownerStatements({ owner, committed, task, message, pausedTool }: Names) {
  // One whose own renewals came without a gap for a lease shows that others could have renewed theirs. One that has closed its store has none.
  const lives = (
    lease: string,
  ): string => `retired = 0 AND (lease_until >= clock_timestamp() OR (lease_until > '-infinity' AND NOT EXISTS (
      SELECT 1 FROM ${owner} AS witness WHERE witness.retired = 0 AND witness.lease_until >= clock_timestamp()
        AND witness.steady_since <= clock_timestamp() - ${lease}::float8 * interval '1 ms')))`;
  const hasMark = (mark: string): string => hasMarkIn(committed, "$1", mark);
  const all = (lease: string): string =>
    `SELECT id, handlers, retired, drain_until, CASE WHEN ${holds} THEN 1 ELSE 0 END, CASE WHEN ${lives(lease)} THEN 1 ELSE 0 END
      FROM ${owner}`;
  /**
   * The transaction id, if the owner may write: until it ends, nobody can declare the owner dead. And whether the database has this mark, of
   * the last group of the owner. Takes the shared locks of these counts, which are exact by them.
   */
  const fence = `SELECT pg_current_xact_id()::text AS xid, CASE WHEN $2::bigint IS NULL OR ${hasMark("$2::bigint")} THEN 1 ELSE 0 END AS has_mark,
      (SELECT count(pg_advisory_xact_lock_shared(hashtextextended(name, 0))::text) FROM unnest($3::text[]) AS name) AS locks
      FROM ${owner} WHERE id = $1 AND retired = 0 FOR KEY SHARE`;
  return {
    /** For counts, which are exact by them. */
    lockAlone: `SELECT pg_advisory_xact_lock(hashtextextended(name, 0)) FROM unnest($1::text[]) AS name`,
    fence,
    /** The same with a row for each owner. */
    fencedOwners: `WITH fence AS MATERIALIZED (${fence}) SELECT fence.*, known.* FROM fence CROSS JOIN (${all("$4")}) AS known`,
    /** Before an owner is declared dead: waits for what it writes. */
    lockOwner: `SELECT 1 FROM ${owner} WHERE id = $1 FOR UPDATE`,
    register: `INSERT INTO ${owner} (id, pid, host, since, handlers, lease_until, steady_since)
      VALUES ($1, $2, $3, clock_timestamp(), $4, ${until("$5::float8")}, clock_timestamp())
      ON CONFLICT (id) DO UPDATE SET retired = 0, handlers = excluded.handlers, lease_until = excluded.lease_until,
        steady_since = excluded.steady_since`,
    setHandlers: `UPDATE ${owner} SET handlers = $2 WHERE id = $1`,
    /** Half a lease without a renewal is a gap. */
    renew: `UPDATE ${owner} SET lease_until = ${until("$2::float8")},
        steady_since = CASE WHEN lease_until >= ${until("$2::float8 / 2")} THEN steady_since ELSE clock_timestamp() END
      WHERE id = $1 AND retired = 0 RETURNING (extract(epoch FROM clock_timestamp()) * 1000)::bigint`,
    /** Ends the lease at once. */
    leave: `UPDATE ${owner} SET lease_until = '-infinity' WHERE id = $1`,
    all: all("$1"),
    held: `SELECT id, token FROM ${task} WHERE state = 'running' AND task.owner = $1 AND id > $2 ORDER BY id LIMIT $3`,
    paused: `SELECT tool FROM ${pausedTool} ORDER BY tool`,
    drain: `UPDATE ${owner} SET drain_until = $2 WHERE id = $1`,
    retire: `UPDATE ${owner} SET retired = 1 WHERE id = $1`,
    deleteMessages: `DELETE FROM ${message} WHERE owner = $1`,
    unmarkCommits: `DELETE FROM ${committed} WHERE owner = $1`,
    /** Not while a task that it ran may still have to be returned: a due cancel can be withdrawn. */
    forget: `DELETE FROM ${owner} WHERE id = $1 AND NOT EXISTS (
      SELECT 1 FROM ${task} WHERE task.state = 'running' AND task.owner = $1
        AND (sweep_at IS NULL OR sweep_at > $2 OR cancel_by IS NOT NULL))`,
  };
}

export type OwnerStatements = ReturnType<typeof ownerStatements>;

/** How many marks are deleted together. */
const mostMarks = 100;

/**
 * The last committed transactions of an owner, each with a mark that the transaction wrote itself. The database's own status of a
 * transaction number proves nothing: after a crash, numbers that are not in its log are assigned again. Nor does its list of locks: a
 * transaction may still be on its way.
 */
export class Commits {
  readonly #sql: ReturnType<typeof commitStatements>;
  readonly #owner: string;
  #marks: string[] = [];

  constructor(names: Names, owner: string) {
    this.#sql = commitStatements(names);
    this.#owner = owner;
  }

  /** The mark of the last group that was committed; null before the first one. */
  get last(): string | null {
    return this.#marks.at(-1) ?? null;
  }

  /** Adds the mark to what a transaction writes, and deletes older marks. Returns a function to call after the commit. */
  mark(batch: { together(sql: string, ...values: SqlValue[]): void }, xid: string): () => void {
    batch.together(this.#sql.mark, this.#owner, xid);
    const old = this.#marks.length >= mostMarks ? this.#marks : [];
    if (old.length > 0) batch.together(this.#sql.unmark, this.#owner, old);
    return () => {
      if (this.#marks === old) this.#marks = [];
      this.#marks.push(xid);
    };
  }

  /**
   * Whether a transaction was committed, after which that is settled: a missing mark is inserted, so that the transaction cannot commit any
   * more; one that is there is updated. Either is a commit of its own, as durable as the database is set to make any, so it waits for a
   * standby that has not got the transaction yet, and fails on one. A read would show what a failover still undoes. Rejects while that is
   * unknown.
   */
  async settle(database: Pick<Database, "begin">, xid: string): Promise<boolean> {
    const transaction = await database.begin();
    try {
      const [[missing]] = await Promise.all([
        transaction.query(this.#sql.markMissing, [this.#owner, xid]),
        transaction.query(this.#sql.touch, [this.#owner, xid]),
        transaction.commit(),
      ]);
      this.#marks.push(xid);
      return missing === undefined;
    } finally {
      await transaction.rollback();
    }
  }
}

/** Statements about the committed transactions of an owner. */
export function commitStatements({ committed }: Names) {
  return {
    mark: `INSERT INTO ${committed} (owner, xid) VALUES ($1, $2)`,
    unmark: `DELETE FROM ${committed} WHERE owner = $1 AND xid = ANY($2::bigint[])`,
    /** Waits for a transaction that is under way and has written the mark. */
    markMissing: `INSERT INTO ${committed} (owner, xid) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING 1`,
    touch: `UPDATE ${committed} SET xid = xid WHERE owner = $1 AND xid = $2`,
  };
}

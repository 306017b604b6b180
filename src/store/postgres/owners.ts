import { hostname } from "node:os";
import type { HandlerName, StoreOwner } from "../../task/queue.ts";
import { handlersIn, handlersText } from "../handler-row.ts";
import { StoreLost } from "../lost-store.ts";
import type { Renewal } from "../store.ts";
import { columnsOf, integer, text, textOrStored, type Row } from "../row.ts";
import type { Database, Queries } from "./database.ts";
import type { Names } from "./names.ts";
import { ownerStatements, type OwnerStatements } from "./owner-sql.ts";

/** A process that has, or had, the store open. */
export interface KnownOwner extends StoreOwner {
  /** Whether its lease is valid, by the database's clock. */
  readonly lives: boolean;
  /** True once its tasks went to others. */
  readonly retired: boolean;
}

/** The processes that have the store open: each has a lease, which it renews. */
export class Owners {
  readonly sql: OwnerStatements;
  readonly #database: Database;
  readonly #leases: Pick<Database, "read">;
  readonly #schema: string;
  #own: StoreOwner;
  readonly leaseMs: number;

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

  /** Writers of an owner lock this name together; others lock it exclusively to declare the owner dead. */
  lockName(owner: string): string {
    return `${this.#schema} owner ${owner}`;
  }

  /** Makes the process an owner, for the first time or again. */
  async register(): Promise<void> {
    const { id, handlers } = this.#own;
    const transaction = await this.#database.begin();
    try {
      void transaction.query(this.sql.lockAlone, [[this.lockName(id)]]);
      const values = [id, process.pid, hostname(), handlersText(handlers), this.leaseMs];
      void transaction.query(this.sql.register, values);
      await transaction.commit();
    } catch (error) {
      await transaction.rollback();
      throw error;
    }
  }

  /** Sets the owner's handlers, which a later `register` keeps. */
  async setHandlers(handlers: readonly HandlerName[]): Promise<void> {
    this.#own = { ...this.#own, handlers };
    await this.write((queries) => queries.query(this.sql.setHandlers, [this.id, handlersText(handlers)]));
  }

  /** Writes in a transaction. Rejects with `store_lost` if others considered this owner dead. */
  async write<T>(send: (queries: Queries) => Promise<T>): Promise<T> {
    const transaction = await this.#database.begin();
    try {
      void transaction.query(this.sql.lockShared, [[this.lockName(this.id)]]).catch(() => undefined);
      const [row] = await transaction.query(this.sql.fence, [this.id]);
      if (row === undefined) throw new StoreLost(`schema ${this.#schema}`, true);
      const [result] = await Promise.all([send(transaction), transaction.commit()]);
      return result;
    } catch (error) {
      await transaction.rollback();
      throw error;
    }
  }

  async renew(): Promise<Renewal> {
    const read: Queries = { query: (sql, values) => this.#leases.read(sql, values) };
    const [renewed] = await read.query(this.sql.renew, [this.id, this.leaseMs]);
    const [all, pausedTools] = await Promise.all([this.all(read), read.query(this.sql.paused)]);
    const others = all.filter(({ id }) => id !== this.id);
    const gone = others.filter(({ lives }) => !lives);
    const paused = pausedTools.map((row) => textOrStored(row, pausedAt.tool));
    return {
      ...(paused.length > 0 && { paused }),
      ...(renewed && { now: integer(renewed, renewedAt.now) }),
      held: renewed !== undefined,
      gone: gone.map(({ id }) => id),
      others: others.length - gone.length,
    };
  }

  /** Counts as dead at once. */
  async leave(): Promise<void> {
    await this.#database.query(this.sql.leave, [this.id]);
  }

  async all(queries: Queries): Promise<readonly KnownOwner[]> {
    return (await queries.query(this.sql.all, [this.leaseMs])).map(ownerOf);
  }
}

const at = columnsOf(["id", "handlers", "retired", "lives"]);
const renewedAt = columnsOf(["now"]);
const pausedAt = columnsOf(["tool"]);

function ownerOf(row: Row): KnownOwner {
  return {
    id: text(row, at.id),
    handlers: handlersIn(text(row, at.handlers)),
    retired: integer(row, at.retired) !== 0,
    lives: integer(row, at.lives) !== 0,
  };
}

import type { Queries, SqlValue } from "./database.ts";

export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Where the writes of a group go, in order. */
export interface WriteSink {
  /** May be sent as one statement with those before and after it, of which none sees what the others write. */
  together(sql: string, ...values: SqlValue[]): void;
  /** Sees what was written before, and is seen by what is written after it. */
  apart(sql: string, ...values: SqlValue[]): void;
  /** What was written so far is seen by what is written from now on. */
  send(): void;
}

/** Sends writes that may go together as one statement: each costs the database and this process about as much, whatever it does. */
export class WriteBatch implements WriteSink {
  readonly #queries: Queries;
  #waiting: Statement[] = [];

  constructor(queries: Queries) {
    this.#queries = queries;
  }

  together(sql: string, ...values: SqlValue[]): void {
    this.#waiting.push({ sql, values });
  }

  apart(sql: string, ...values: SqlValue[]): void {
    this.send();
    this.#send({ sql, values });
  }

  /** Sends what waits. A failure is reported when the transaction commits. */
  send(): void {
    const last = this.#waiting.pop();
    if (last !== undefined) this.#send(inOne(this.#waiting, last));
    this.#waiting = [];
  }

  #send({ sql, values }: Statement): void {
    void this.#queries.query(sql, values).catch(() => undefined);
  }
}

/** Writes that are a transaction by themselves, as one statement. */
export class LoneWrite implements WriteSink {
  readonly #statements: Statement[] = [];
  /** False if they cannot be one statement. */
  fits = true;

  together(sql: string, ...values: SqlValue[]): void {
    this.#statements.push({ sql, values });
  }

  apart(): void {
    this.fits = false;
  }

  send(): void {
    this.fits = false;
  }

  /** Nothing is written if `guard` fails. */
  guardedBy({ sql, values }: Statement): Statement {
    return inOne(this.#statements, { sql: `SELECT * FROM (${sql}) AS guard`, values });
  }
}

/** Postgres runs the last one first, and then the others to their ends. */
function inOne(first: readonly Statement[], last: Statement): Statement {
  const values: SqlValue[] = [];
  const numbered = (each: Statement): string => {
    const before = values.length;
    values.push(...each.values);
    return before === 0
      ? each.sql
      : each.sql.replace(/\$(\d+)/g, (_, number) => `$${Number(number) + before}`);
  };
  const parts = first.map((each, place) => `part_${place} AS (${numbered(each)})`);
  const sql = numbered(last);
  return { sql: parts.length === 0 ? sql : `WITH ${parts.join(", ")} ${sql}`, values };
}

import type { SqlValue } from "./database.ts";

export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** The writes of a group. Those that may go together are one statement: each costs the database and this process about as much, whatever it does. */
export class WriteBatch {
  readonly #sent: Statement[][] = [];
  #last: Statement[] = [];

  /** It may be one statement with those before and after it, of which none sees what the others write. */
  together(sql: string, ...values: SqlValue[]): void {
    this.#last.push({ sql, values });
  }

  /** It sees what was written before, and is seen by what is written after it. */
  apart(sql: string, ...values: SqlValue[]): void {
    this.divide();
    this.together(sql, ...values);
    this.divide();
  }

  /** What was written so far is seen by what is written from now on. */
  divide(): void {
    if (this.#last.length > 0) this.#sent.push(this.#last);
    this.#last = [];
  }

  /** What is to be sent, one after another. */
  get statements(): readonly Statement[] {
    this.divide();
    return this.#sent.map((together) => inOne(together));
  }

  /** All of it as one statement, which writes nothing if `guard` fails; undefined if it cannot be one. */
  guardedBy({ sql, values }: Statement): Statement | undefined {
    this.divide();
    const [together, ...others] = this.#sent;
    if (together === undefined || others.length > 0) return undefined;
    return inOne([...together, { sql: `SELECT * FROM (${sql}) AS guard`, values }]);
  }
}

/** Postgres runs the last one first, and then the others to their ends. */
function inOne(together: readonly Statement[]): Statement {
  const values: SqlValue[] = [];
  const texts = together.map((each) => {
    const before = values.length;
    values.push(...each.values);
    return before === 0
      ? each.sql
      : each.sql.replace(/\$(\d+)/g, (_, number) => `$${Number(number) + before}`);
  });
  const last = texts.pop() ?? "";
  const parts = texts.map((text, place) => `part_${place} AS (${text})`);
  return { sql: parts.length === 0 ? last : `WITH ${parts.join(", ")} ${last}`, values };
}

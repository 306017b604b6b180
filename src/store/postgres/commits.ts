import { commitStatements } from "./commit-sql.ts";
import type { Queries, Transaction } from "./database.ts";
import type { Names } from "./names.ts";

/** How many marks are deleted together. */
const mostMarks = 100;

/**
 * The last committed transactions of an owner, each with a mark that the transaction wrote itself. The database's own status of a
 * transaction number proves nothing: after a crash, numbers that are not in its log are assigned again.
 */
export class Commits {
  readonly #sql: ReturnType<typeof commitStatements>;
  readonly #owner: string;
  #marks: string[] = [];

  constructor(names: Names, owner: string) {
    this.#sql = commitStatements(names);
    this.#owner = owner;
  }

  /** Adds the mark to a transaction, and deletes older marks. Returns a function to call after the commit. */
  mark(transaction: Pick<Transaction, "query">, xid: string): () => void {
    void transaction.query(this.#sql.mark, [this.#owner, xid]).catch(() => undefined);
    const old = this.#marks.length >= mostMarks ? this.#marks : [];
    if (old.length > 0) void transaction.query(this.#sql.unmark, [this.#owner, old]).catch(() => undefined);
    return () => {
      if (this.#marks === old) this.#marks = [];
      this.#marks.push(xid);
    };
  }

  /** Whether a transaction was committed; undefined while it is in progress. Rejects if the database does not answer. */
  async has(database: { readonly read: Queries["query"] }, xid: string): Promise<boolean | undefined> {
    const [underWay] = await database.read(this.#sql.isUnderWay, [xid]);
    if (underWay !== undefined) return undefined;
    const [mark] = await database.read(this.#sql.isMarked, [this.#owner, xid]);
    return mark !== undefined;
  }
}

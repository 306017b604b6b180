import { commitStatements } from "./commit-sql.ts";
import type { Queries, Transaction } from "./database.ts";
import type { Names } from "./names.ts";

/** Marks that are deleted together. */
const mostMarks = 100;

/**
 * The transactions that an owner has committed last, each with a mark that it left itself. What the database has under the number of a transaction proves
 * nothing: after a crash it gives those numbers again that are not in its log.
 */
export class Commits {
  readonly #sql: ReturnType<typeof commitStatements>;
  readonly #owner: string;
  #marks: string[] = [];

  constructor(names: Names, owner: string) {
    this.#sql = commitStatements(names);
    this.#owner = owner;
  }

  /** Makes the mark part of a transaction, with what is left of earlier ones. Returns what to call once it is committed. */
  mark(transaction: Pick<Transaction, "query">, xid: string): () => void {
    void transaction.query(this.#sql.mark, [this.#owner, xid]).catch(() => undefined);
    const old = this.#marks.length >= mostMarks ? this.#marks : [];
    if (old.length > 0) void transaction.query(this.#sql.unmark, [this.#owner, old]).catch(() => undefined);
    return () => {
      if (this.#marks === old) this.#marks = [];
      this.#marks.push(xid);
    };
  }

  /** Whether a transaction was committed; undefined while it is under way. Rejects where the database does not answer. */
  async has(database: { readonly read: Queries["query"] }, xid: string): Promise<boolean | undefined> {
    const [underWay] = await database.read(this.#sql.isUnderWay, [xid]);
    if (underWay !== undefined) return undefined;
    const [mark] = await database.read(this.#sql.isMarked, [this.#owner, xid]);
    return mark !== undefined;
  }
}

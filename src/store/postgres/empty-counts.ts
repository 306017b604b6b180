import type { Database } from "./database.ts";
import type { Names } from "./names.ts";
import { countLock, usageStatements } from "./usage-sql.ts";

/**
 * Deletes the counts of principals who have nothing left, after the tasks and beside everything else: whoever makes tasks locks the count that they belong to, and one
 * that is locked is not empty for long.
 */
export class EmptyCounts {
  readonly #database: Database;
  readonly #schema: string;
  readonly #sql: ReturnType<typeof usageStatements>;
  #keys = new Set<string>();
  #deleting: Promise<void> | undefined;

  constructor(database: Database, names: Names) {
    this.#database = database;
    this.#schema = names.schema;
    this.#sql = usageStatements(names);
  }

  /** Of these there are fewer tasks now. */
  add(keys: readonly string[]): void {
    for (const key of keys) this.#keys.add(key);
    if (this.#keys.size > 0) this.#deleting ??= this.#deleteAll();
  }

  /** Resolves when nothing is under way. */
  async close(): Promise<void> {
    await this.#deleting;
  }

  async #deleteAll(): Promise<void> {
    while (this.#keys.size > 0) {
      const keys = [...this.#keys];
      this.#keys = new Set();
      // What is left stays until more of the same principal is deleted.
      await this.#delete(keys).catch(() => undefined);
    }
    this.#deleting = undefined;
  }

  async #delete(keys: readonly string[]): Promise<void> {
    const transaction = await this.#database.begin();
    try {
      const names = keys.map((key) => countLock(this.#schema, key));
      const locked = await transaction.query(this.#sql.tryLock, [keys, names]);
      if (locked.length === 0) return;
      // In a statement of its own, which sees what was committed before the locks were free.
      void transaction
        .query(this.#sql.deleteEmpty, [locked.map(([key]) => String(key))])
        .catch(() => undefined);
      await transaction.commit();
    } finally {
      await transaction.rollback();
    }
  }
}

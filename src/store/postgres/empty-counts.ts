import type { Database } from "./database.ts";
import type { Names } from "./names.ts";
import { countLock, usageStatements } from "./usage-sql.ts";

/**
 * Deletes the counts of principals with no tasks left, after the tasks and in the background. Creating a task locks its counts; a locked
 * count does not stay empty for long.
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

  /** These principals have fewer tasks now. */
  add(keys: readonly string[]): void {
    for (const key of keys) this.#keys.add(key);
    if (this.#keys.size > 0) this.#deleting ??= this.#deleteAll();
  }

  /** Resolves when no delete is running. */
  async close(): Promise<void> {
    await this.#deleting;
  }

  async #deleteAll(): Promise<void> {
    while (this.#keys.size > 0) {
      const keys = [...this.#keys];
      this.#keys = new Set();
      // The rest stays until more tasks of the same principal are deleted.
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
      // In a separate statement, which sees what was committed before the locks were free.
      void transaction
        .query(this.#sql.deleteEmpty, [locked.map(([key]) => String(key))])
        .catch(() => undefined);
      await transaction.commit();
    } finally {
      await transaction.rollback();
    }
  }
}

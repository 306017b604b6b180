import type { Row } from "../row.ts";
import type { Database } from "./database.ts";

/** The maximum number of rows per statement: each may have a body of several megabytes. */
const mostIds = 32;

/** How many statements may be unanswered at once: the more there are, the less each one asks for. */
const mostSent = 4;

interface Wanted {
  readonly resolve: (row: Row | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Reads rows by their ids, many with one statement: planning a statement costs the database several times as much as a row. Requests of one
 * turn of the event loop, or that arrive during a read, are read together. A read always starts after its request.
 */
export class BatchedReads {
  readonly #database: Pick<Database, "read">;
  readonly #sql: string;
  /** By ids as stored. */
  #waiting = new Map<string, Wanted[]>();
  #sent = 0;
  #isStarting = false;

  /** The statement takes an array of ids. It returns one row for each existing id, beginning with the id. */
  constructor(database: Pick<Database, "read">, sql: string) {
    this.#database = database;
    this.#sql = sql;
  }

  row(storedId: string): Promise<Row | undefined> {
    return new Promise((resolve, reject) => {
      const wanted = this.#waiting.get(storedId) ?? [];
      wanted.push({ resolve, reject });
      this.#waiting.set(storedId, wanted);
      if (this.#isStarting) return;
      this.#isStarting = true;
      queueMicrotask(() => {
        this.#isStarting = false;
        this.#start();
      });
    });
  }

  #start(): void {
    while (this.#waiting.size > 0 && this.#sent < mostSent) {
      const batch = new Map([...this.#waiting].slice(0, mostIds));
      for (const id of batch.keys()) this.#waiting.delete(id);
      this.#sent++;
      void this.#read(batch).finally(() => {
        this.#sent--;
        this.#start();
      });
    }
  }

  async #read(batch: ReadonlyMap<string, readonly Wanted[]>): Promise<void> {
    try {
      const rows = await this.#database.read(this.#sql, [[...batch.keys()]]);
      const found = new Map(rows.map((row) => [row[0], row]));
      for (const [id, wanted] of batch) for (const { resolve } of wanted) resolve(found.get(id));
    } catch (error) {
      for (const { reject } of [...batch.values()].flat()) reject(error);
    }
  }
}

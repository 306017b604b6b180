import { journalInput, outcomeBody, requestTable, smallOutcome } from "../tables/of-task.ts";
import { finished, isWaiting, recordList, unfinished } from "../tables/task.ts";
import { taskSql } from "../task-reads.ts";
import type { Names } from "./names.ts";
import { unfinishedTasks, withQueuedHandlers } from "./postgres-admin.ts";
import type { Row } from "../row.ts";
import type { Database } from "./database.ts";

const recordColumns = recordList();

/**
 * The statements that read tasks, except those for commands. Conditions repeat those of the partial indexes. To find each distinct value
 * among many, such as each handler, a statement seeks the next different one, step by step.
 */
export function readStatements(names: Names) {
  const { task, request, journal, outcome, child, owner } = names;
  return {
    ...taskSql(names, "postgres"),
    tasks: `SELECT ${recordColumns} FROM ${task} WHERE id = ANY($1::text[])`,
    /** Without large outcomes: many rows are read together. */
    withOutcomes: `SELECT ${recordColumns}, ${smallOutcome} FROM ${task} LEFT JOIN ${outcome} ON outcome.task_id = task.id
      WHERE task.id = ANY($1::text[])`,
    /**
     * A row for each open question of a task, or one row without a question: first the task's own questions, then those of the tasks below
     * it. With `OFFSET 0` these are looked up one by one, even if Postgres does not know yet how many questions are open.
     */
    snapshot: `SELECT ${recordColumns}, ${outcomeBody.list("outcome")}, ${journalInput.list("input")},
        input.asker_id, ${recordList("asker")}
      FROM ${task} LEFT JOIN ${outcome} ON outcome.task_id = task.id
      LEFT JOIN LATERAL (
        SELECT NULL AS asker_id, ${journalInput.list("own")}, own.place
        FROM ${journal} AS own
        WHERE task.${unfinished} AND own.task_id = task.id AND own.kind = 'input' AND own.done_at IS NULL
        UNION ALL
        SELECT below.id, ${journalInput.list("asked")}, asked.place FROM (
          SELECT child.id FROM ${child} WHERE task.${unfinished} AND child.root = task.id OFFSET 0) AS below
        CROSS JOIN LATERAL (
          SELECT ${journalInput.list()}, place FROM ${journal}
          WHERE task_id = below.id AND kind = 'input' AND done_at IS NULL OFFSET 0) AS asked
      ) AS input ON true
      LEFT JOIN ${task} AS asker ON asker.id = input.asker_id AND asker.${unfinished}
      WHERE task.id = $1 ORDER BY input.asker_id NULLS FIRST, input.place`,
    requests: `SELECT task_id, ${requestTable.list()} FROM ${request} WHERE task_id = ANY($1::text[])`,
    unfinished: unfinishedTasks(names, "id > $1", "id", "$2"),
    /** After the first time and up to the second, at which no wait ends by itself. */
    nextSweep: `SELECT least(
      (SELECT min(sweep_at) FROM ${task} WHERE ${unfinished} AND sweep_at IS NOT NULL AND sweep_at > $1 AND sweep_at <= $2),
      (SELECT min(sweep_at) FROM ${task} WHERE ${finished} AND sweep_at IS NOT NULL AND sweep_at > $1 AND sweep_at <= $2),
      (SELECT min(run_after) FROM ${task} WHERE ${isWaiting} AND run_after > $1 AND run_after < $2))`,
    /** The handlers of queued tasks: of claimable ones, for each owner, and of waiting ones. */
    queuedHandlers: `${withQueuedHandlers(names)} SELECT method, tool FROM ready UNION SELECT method, tool FROM waiting`,
    ownerHandlers: `SELECT handlers FROM ${owner} WHERE retired = 0`,
  };
}

export type ReadStatements = ReturnType<typeof readStatements>;

/** The maximum number of rows per statement: each may have a request of several megabytes. */
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

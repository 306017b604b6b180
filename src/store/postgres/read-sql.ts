import {
  journalEnd,
  journalEntry,
  journalHead,
  journalInput,
  lineTable,
  outcomeBody,
  pieceBody,
  requestTable,
  smallOutcome,
} from "../tables/of-task.ts";
import { finished, isBlocked, isListed, isWaiting, recordList, unfinished } from "../tables/task.ts";
import { personKeys } from "../secrets.ts";
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
  const { task, request, journal, outcome, child, line, piece, owner } = names;
  /** Leaves out what is over before the limit counts. The last three parameters are the end of the page, the time and the limit. */
  const newest = (of: string, [before, now, limit]: readonly [string, string, string]): string => `
      SELECT ${recordColumns} FROM ${task}
      WHERE ${of} AND id < ${before} AND NOT (${finished} AND sweep_at IS NOT NULL AND sweep_at <= ${now})
      ORDER BY id DESC LIMIT ${limit}`;
  /** The last part distinguishes no name from an empty one. With another form, Postgres would expect so few rows that it sorts all of them. */
  const ofPrincipal = (principal: string): string =>
    `coalesce(principal, '') = coalesce(${principal}::text, '') AND (principal IS NULL) = (${principal}::text IS NULL)`;
  return {
    anyTask: `SELECT id FROM ${names.task} WHERE id > '' ORDER BY id LIMIT 1`,
    secrets: `SELECT name, value FROM ${names.secret} WHERE name < '${personKeys}'`,
    secretsIn: `SELECT name, value FROM ${names.secret} WHERE name >= $1 AND name < $2`,
    tasks: `SELECT ${recordColumns} FROM ${task} WHERE id = ANY($1::text[])`,
    /** Without large outcomes: many rows are read together. */
    withOutcomes: `SELECT ${recordColumns}, ${smallOutcome} FROM ${task} LEFT JOIN ${outcome} ON outcome.task_id = task.id
      WHERE task.id = ANY($1::text[])`,
    outcome: `SELECT ${outcomeBody.list()} FROM ${outcome} WHERE task_id = $1`,
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
    /** A wire id that equals the id is not stored twice. */
    idByWireId: `SELECT id FROM ${task} WHERE generation = $1 AND scope = $2 AND wire_id = $3 AND wire_id IS NOT NULL
      UNION ALL SELECT id FROM ${task} WHERE id = $3 AND wire_id IS NULL AND generation = $1 AND scope = $2 LIMIT 1`,
    /** From the first element of each pair on, below the second. */
    keyed: `SELECT keyed.id, keyed.idempotency_key
      FROM unnest($2::text[], $3::text[]) AS range (first, last) CROSS JOIN LATERAL (
        SELECT id, idempotency_key FROM ${task}
        WHERE coalesce(principal, '') = $1 AND idempotency_key IS NOT NULL
          AND idempotency_key >= range.first AND idempotency_key < range.last
        ORDER BY idempotency_key LIMIT $4) AS keyed
      ORDER BY keyed.idempotency_key LIMIT $4`,
    requests: `SELECT task_id, ${requestTable.list()} FROM ${request} WHERE task_id = ANY($1::text[])`,
    /** Gets the length of a text without reading the text. */
    journal: `SELECT ${journalHead.list()},
        coalesce(octet_length(request), 0) + coalesce(octet_length(value), 0) + coalesce(octet_length(error), 0) AS bytes
      FROM ${journal} WHERE task_id = $1 AND key >= $2 ORDER BY key LIMIT $3`,
    journalEnds: `SELECT ${journalEnd.list()} FROM ${journal} WHERE task_id = $1 AND key = ANY($2::text[])`,
    journalEntry: `SELECT ${journalEntry.list()} FROM ${journal} WHERE task_id = $1 AND key = $2`,
    lines: `SELECT ${lineTable.list()} FROM ${line} WHERE task_id = $1 AND list = $2 AND seq > $3 ORDER BY seq LIMIT $4`,
    piece: `SELECT ${pieceBody.list()} FROM ${piece} WHERE task_id = $1 AND key = $2 AND seq = $3`,
    owned: newest(`generation = $1 AND ${ofPrincipal("$2")}`, ["$3", "$4", "$5"]),
    ofScope: newest("generation = $1 AND scope = $2 AND scope <> ''", ["$3", "$4", "$5"]),
    ownedOfScope: newest(`generation = $1 AND scope = $2 AND scope <> '' AND ${ofPrincipal("$3")}`, [
      "$4",
      "$5",
      "$6",
    ]),
    ofGeneration: newest(`generation = $1 AND ${isListed}`, ["$2", "$3", "$4"]),
    /** Among all tasks: no client asks for these. */
    ofUnlisted: newest(`generation = $1 AND NOT ${isListed}`, ["$2", "$3", "$4"]),
    unfinished: unfinishedTasks(names, "id > $1", "id", "$2"),
    due: `SELECT id FROM ${task} WHERE ${unfinished} AND sweep_at IS NOT NULL AND sweep_at <= $1
      ORDER BY sweep_at LIMIT $2`,
    /** After the first time and up to the second, at which no wait ends by itself. */
    nextSweep: `SELECT least(
      (SELECT min(sweep_at) FROM ${task} WHERE ${unfinished} AND sweep_at IS NOT NULL AND sweep_at > $1 AND sweep_at <= $2),
      (SELECT min(sweep_at) FROM ${task} WHERE ${finished} AND sweep_at IS NOT NULL AND sweep_at > $1 AND sweep_at <= $2),
      (SELECT min(run_after) FROM ${task} WHERE ${isWaiting} AND run_after > $1 AND run_after < $2))`,
    /** The handlers of queued tasks: of claimable ones, for each owner, and of waiting ones. */
    queuedHandlers: `${withQueuedHandlers(names)} SELECT method, tool FROM ready UNION SELECT method, tool FROM waiting`,
    ownerHandlers: `SELECT handlers FROM ${owner} WHERE retired = 0`,
    /** The queued tasks of a handler that are not blocked. Only needed for a tool that nobody has. */
    queued: `SELECT id FROM ${task}
      WHERE state = 'queued' AND blocked IS NULL AND method = $1 AND tool = $2 AND id > $3 ORDER BY id LIMIT $4`,
    blocked: `SELECT id FROM ${task} WHERE ${isBlocked} AND method = $1 AND tool = $2 AND id > $3 ORDER BY id LIMIT $4`,
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

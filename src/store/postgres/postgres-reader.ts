import type { JournalEnd, JournalEntry } from "../../task/journal.ts";
import { type HandlerName, compareNames } from "../../task/queue.ts";
import type { Origin, TaskRecord, TaskRequest, TaskSnapshot } from "../../task/record.ts";
import type { LineList, TaskLine } from "../../task/task-line.ts";
import { latestTime, storable } from "../../task/time.ts";
import { journalEndOf, journalEntryOf, listedEntryOf } from "../journal-row.ts";
import { lineOf } from "../line-row.ts";
import { columnsOf, idOf, integerOrNull, text, textOrNull, type Row } from "../row.ts";
import type { JournalPage, KeyedTask, TaskFilter, WireName } from "../store.ts";
import { toStoredWithoutNul as toStored } from "../stored-text.ts";
import { BatchedReads } from "./batched-reads.ts";
import type { Database, SqlValue } from "./database.ts";
import type { Names } from "./names.ts";
import { QueueReader } from "./queue-reader.ts";
import { readStatements, type ReadStatements } from "./read-sql.ts";
import { behindAllTexts, readableTasks, readTask } from "./read-task.ts";
import { snapshotOf } from "./snapshot-rows.ts";
import { recordOf, stored } from "./task-row.ts";

const keyedAt = columnsOf(["id", "idempotency_key"]);
const requestAt = columnsOf(["task_id", "origin", "arguments", "prepared"]);
const sweepAt = columnsOf(["at"]);

/**
 * Reads tasks. Everything that can change is read with one statement, so in one consistent view; pages of tasks use several if some are
 * unreadable.
 */
export class PostgresReader {
  readonly #database: Pick<Database, "read">;
  readonly #sql: ReadStatements;
  readonly #queue: QueueReader;
  readonly #tasks: BatchedReads;
  readonly #withOutcomes: BatchedReads;
  readonly #requests: BatchedReads;

  constructor(database: Pick<Database, "read">, names: Names) {
    this.#database = database;
    this.#sql = readStatements(names);
    this.#queue = new QueueReader(database, this.#sql);
    this.#tasks = new BatchedReads(database, this.#sql.tasks);
    this.#withOutcomes = new BatchedReads(database, this.#sql.withOutcomes);
    this.#requests = new BatchedReads(database, this.#sql.requests);
  }

  async get(id: string): Promise<TaskRecord | undefined> {
    const row = await this.#tasks.row(toStored(id));
    return row === undefined ? undefined : recordOf(row);
  }

  async snapshot(
    id: string,
    isVisible: (task: TaskRecord) => boolean = () => true,
  ): Promise<TaskSnapshot | undefined> {
    const row = await this.#withOutcomes.row(toStored(id));
    if (row === undefined) return undefined;
    // A record and its outcome are written together, and the record says whether there is an outcome.
    const snapshot = readTask(id, () => snapshotOf(row, [], isVisible));
    if (snapshot === undefined || snapshot.task.openInputs === 0) return snapshot;
    const rows = await this.#database.read(this.#sql.snapshot, [toStored(id)]);
    const [first] = rows;
    return first === undefined ? undefined : readTask(id, () => snapshotOf(first, rows, isVisible));
  }

  async find({ generation, scope, wireId }: WireName): Promise<string | undefined> {
    const row = await this.#first(this.#sql.idByWireId, [generation, toStored(scope), toStored(wireId)]);
    return row === undefined ? undefined : idOf(row);
  }

  async withKeys(principal: string | null, prefix: string, limit: number): Promise<readonly KeyedTask[]> {
    const starts = storedStarts(prefix);
    const ends = starts.map((start) => start + behindAllTexts);
    const rows = await this.#database.read(this.#sql.keyed, [toStored(principal ?? ""), starts, ends, limit]);
    const keyed = rows.map((row) => ({ id: idOf(row), key: text(row, keyedAt.idempotency_key) }));
    return keyed.sort((a, b) => compareNames(a.key, b.key));
  }

  async request(id: string): Promise<TaskRequest | undefined> {
    const row = await this.#requests.row(toStored(id));
    return row === undefined ? undefined : readTask(id, () => requestOf(row));
  }

  async journal(id: string, from: string, limit: number): Promise<JournalPage> {
    const rows = await this.#database.read(this.#sql.journal, [toStored(id), toStored(from), limit + 1]);
    return readTask(id, () => {
      const entries = rows.map(listedEntryOf);
      return { entries: entries.slice(0, limit), next: entries[limit]?.key ?? null };
    });
  }

  async journalEnds(id: string, keys: readonly string[]): Promise<readonly JournalEnd[]> {
    if (keys.length === 0) return [];
    const rows = await this.#database.read(this.#sql.journalEnds, [toStored(id), keys.map(toStored)]);
    return readTask(id, () => rows.map(journalEndOf));
  }

  async journalEntry(id: string, key: string): Promise<JournalEntry | undefined> {
    const row = await this.#first(this.#sql.journalEntry, [toStored(id), toStored(key)]);
    return row === undefined ? undefined : readTask(id, () => journalEntryOf(row));
  }

  async lines(id: string, list: LineList, after: number, limit: number): Promise<readonly TaskLine[]> {
    const rows = await this.#database.read(this.#sql.lines, [toStored(id), list, after, limit]);
    return readTask(id, () => rows.map(lineOf));
  }

  async list(
    filter: TaskFilter,
    before: string | null,
    limit: number,
    now: number,
  ): Promise<readonly TaskRecord[]> {
    const { sql, values } = this.#listOf(filter);
    const end = before === null ? behindAllTexts : toStored(before);
    return readableTasks(limit, (last, count) =>
      this.#database.read(sql, [...values, last === undefined ? end : String(last[0]), whole(now), count]),
    );
  }

  async unfinished(after: string, limit: number): Promise<readonly TaskRecord[]> {
    return readableTasks(limit, (last, count) =>
      this.#database.read(this.#sql.unfinished, [
        last === undefined ? toStored(after) : String(last[0]),
        count,
      ]),
    );
  }

  orphanedHandlers(): Promise<readonly HandlerName[]> {
    return this.#queue.orphanedHandlers();
  }

  queued(handler: HandlerName, limit: number): Promise<readonly string[]> {
    return this.#queue.queued(handler, limit);
  }

  async due(now: number, limit: number): Promise<readonly string[]> {
    return (await this.#database.read(this.#sql.due, [whole(now), limit])).map(idOf);
  }

  async nextSweepAt(after: number): Promise<number | null> {
    const row = await this.#first(this.#sql.nextSweep, [whole(after), latestTime]);
    return row === undefined ? null : integerOrNull(row, sweepAt.at);
  }

  async #first(sql: string, values: readonly SqlValue[]): Promise<Row | undefined> {
    const [row] = await this.#database.read(sql, values);
    return row;
  }

  #listOf({ generation, principal, scope }: TaskFilter): { sql: string; values: readonly SqlValue[] } {
    if (scope === undefined) {
      if (principal === undefined) return { sql: this.#sql.ofGeneration, values: [generation] };
      return { sql: this.#sql.owned, values: [generation, stored(principal)] };
    }
    const values = [generation, toStored(scope)];
    if (principal === undefined) return { sql: this.#sql.ofScope, values };
    return { sql: this.#sql.ownedOfScope, values: [...values, stored(principal)] };
  }
}

/** How stored texts may begin that begin with `prefix`: a text that Postgres cannot hold is stored in another form. */
function storedStarts(prefix: string): readonly string[] {
  if (prefix === "") return [prefix];
  const escaped = toStored(`${prefix}\0`);
  const escapedStart = escaped.slice(0, escaped.lastIndexOf("\\u0000"));
  return toStored(prefix) === prefix ? [prefix, escapedStart] : [escapedStart];
}

/** A time to compare with a column of the database. */
function whole(time: number): number {
  return Math.floor(storable(time));
}

function requestOf(row: Row): TaskRequest {
  return {
    origin: JSON.parse(text(row, requestAt.origin)) as Origin,
    arguments: text(row, requestAt.arguments),
    prepared: textOrNull(row, requestAt.prepared),
  };
}

import { type JournalEnd, type JournalEntry, childInputKey, type InputRequest } from "../../task/journal.ts";
import { type HandlerName, compareNames, hasHandler, lanesFrom, noTurns } from "../../task/queue.ts";
import type { Origin, TaskRecord, TaskRequest, TaskSnapshot, QueueLane } from "../../task/record.ts";
import type { LineList, TaskLine } from "../../task/task-line.ts";
import { latestTime, storable } from "../../task/time.ts";
import { journalEndOf, journalEntryOf, listedEntryOf, inputMethodOf } from "../journal-row.ts";
import { lineOf } from "../line-row.ts";
import { columnsOf, idOf, integerOrNull, text, textOrNull, type Row, isNull, textOrStored } from "../row.ts";
import type { JournalPage, KeyedTask, TaskFilter, WireName } from "../store.ts";
import { storedStarts, toStored } from "../stored-text.ts";
import type { Database, SqlValue } from "./database.ts";
import type { Names } from "./names.ts";
import { readStatements, type ReadStatements } from "./read-sql.ts";
import { behindAllTexts, readableTasks, readTask, recordIfReadable } from "./read-task.ts";
import { recordOf, stored } from "./task-row.ts";
import type { Outcome } from "../../task/outcome.ts";
import { takeFairly } from "../fair-order.ts";
import { handlerOf, handlersIn } from "../handler-row.ts";
import type { ReadyTasks } from "../ready-line.ts";

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

const at = columnsOf(["id", "record", "body", "asker", "key", "method", "request", "asker_record"]);

/** The task of the rows that `snapshot` selects; undefined if it is not visible: then the rest is not read. */
export function snapshotOf(
  first: Row,
  rows: readonly Row[],
  isVisible: (task: TaskRecord) => boolean,
): TaskSnapshot | undefined {
  const task = recordOf(first);
  if (!isVisible(task)) return undefined;
  return { task, inputs: task.openInputs === 0 ? [] : inputsOf(rows), outcome: outcomeOf(task, first) };
}

function outcomeOf({ outcomeKind: kind }: TaskRecord, row: Row): Outcome | null {
  if (kind === null) return null;
  if (isNull(row, at.body)) throw new Error("The outcome of this finished task is missing.");
  return { kind, body: text(row, at.body) };
}

function inputsOf(rows: readonly Row[]): InputRequest[] {
  return rows.flatMap((row) => {
    if (isNull(row, at.key)) return [];
    if (isNull(row, at.asker)) return inputOf(row, text(row, at.key));
    // If the asking task is unreadable, it is unknown which scopes an answer needs, and it could not accept one.
    const asker = recordIfReadable([row[at.asker.place] ?? null, row[at.asker_record.place] ?? null]);
    if (asker === undefined || asker.openInputs === 0) return [];
    const input = inputOf(row, childInputKey({ taskId: asker.id, key: text(row, at.key) }));
    const { requiredScopes } = asker;
    return requiredScopes.length > 0 ? { ...input, requiredScopes } : input;
  });
}

function inputOf(row: Row, key: string): InputRequest {
  return { key, method: inputMethodOf(row, at.method), params: textOrNull(row, at.request) ?? "{}" };
}

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

const lineAt = columnsOf(["owner", "principal"]);

const headAt = columnsOf(["id", "record", "principal", "lane"]);

const waitingAt = columnsOf(["id", "record", "run_after"]);

const handlersAt = columnsOf(["handlers"]);

const lanes = lanesFrom("new");

/** Before all times. */
const earliest = -Number.MAX_SAFE_INTEGER;

/** The owners and principals with claimable tasks of a handler, as stored. */
interface Lines {
  readonly owners: readonly string[];
  readonly principals: readonly string[];
}

/** Reads the queue for operators and for handlers that are gone; claims use other statements. */
export class QueueReader {
  readonly #database: Pick<Database, "read">;
  readonly #sql: ReadStatements;

  constructor(database: Pick<Database, "read">, sql: ReadStatements) {
    this.#database = database;
    this.#sql = sql;
  }

  /** Reads the owners last: an owner exists before it queues a task. */
  async orphanedHandlers(): Promise<readonly HandlerName[]> {
    const queued = (await this.#database.read(this.#sql.queuedHandlers)).flatMap(
      (row) => handlerOf(row) ?? [],
    );
    if (queued.length === 0) return [];
    const owners = await this.#database.read(this.#sql.ownerHandlers);
    const served = owners.flatMap((row) => handlersIn(textOrStored(row, handlersAt.handlers)));
    return queued.filter((handler) => !hasHandler(served, handler));
  }

  async queued(handler: HandlerName, limit: number): Promise<readonly string[]> {
    if (limit <= 0) return [];
    const ready = await this.#ready(handler, limit);
    const waiting = await this.#waiting(handler, limit - ready.length);
    return [...ready, ...waiting].map(({ id }) => id);
  }

  async #ready(handler: HandlerName, limit: number): Promise<readonly TaskRecord[]> {
    const lines = await this.#lines(handler, limit);
    if (lines.principals.length === 0) return [];
    // Mostly, principals have equally many tasks; if one has more, more are read.
    for (let depth = Math.ceil(limit / lines.principals.length) + 1; ; depth *= 2) {
      const values = [handler.method, toStored(handler.tool), lines.owners, lines.principals, lanes, depth];
      const heads = new Heads(await this.#database.read(this.#sql.readyHeads, values), depth);
      const line = heads.line(handler, lines.principals);
      const { tasks } = takeFairly([line], { handlers: [handler], turns: noTurns, limit }, () => 0);
      if (!heads.endedEarly) return tasks;
    }
  }

  /** Each principal has a turn before any has a second one, so the first `limit` principals are enough. */
  async #lines({ method, tool }: HandlerName, limit: number): Promise<Lines> {
    const rows = await this.#database.read(this.#sql.readyLines, [method, toStored(tool), limit]);
    const named = ({ place }: { readonly place: number }): string[] => [
      ...new Set(rows.map((row) => String(row[place]))),
    ];
    return {
      owners: named(lineAt.owner),
      principals: named(lineAt.principal).sort(compareNames).slice(0, limit),
    };
  }

  #waiting({ method, tool }: HandlerName, limit: number): Promise<readonly TaskRecord[]> {
    return readableTasks(limit, (last, count) => {
      const after = [Number(last?.[waitingAt.run_after.place] ?? earliest), String(last?.[0] ?? "")];
      return this.#database.read(this.#sql.waiting, [method, toStored(tool), ...after, count]);
    });
  }
}

/** The first tasks of each principal in each lane. */
class Heads {
  readonly #rows: Map<string, Row[]>;
  readonly #depth: number;
  /** True once more was requested than had been read. */
  endedEarly = false;

  constructor(rows: readonly Row[], depth: number) {
    this.#rows = Map.groupBy(rows, (row) =>
      [headAt.lane, headAt.principal].map(({ place }) => row[place]).join(" "),
    );
    this.#depth = depth;
  }

  line(handler: HandlerName, principals: readonly string[]): ReadyTasks<TaskRecord> {
    return {
      handler,
      principalAfter: (after) =>
        principals.find((principal) => after === null || compareNames(principal, after) > 0),
      of: (principal, lane) => this.#of(principal, lane),
    };
  }

  *#of(principal: string, lane: QueueLane): Generator<TaskRecord, void, undefined> {
    const rows = this.#rows.get(`${lane} ${principal}`) ?? [];
    for (const row of rows) {
      const task = recordIfReadable(row);
      if (task !== undefined) yield task;
    }
    if (rows.length >= this.#depth) this.endedEarly = true;
  }
}

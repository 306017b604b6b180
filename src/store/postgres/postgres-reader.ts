import { childInputKey, type InputRequest, type JournalEnd, type JournalEntry } from "../../task/journal.ts";
import { compareNames, type HandlerName, hasHandler } from "../../task/queue.ts";
import {
  listedGenerations,
  type TaskRecord,
  type TaskRequest,
  type TaskSnapshot,
} from "../../task/record.ts";
import type { LineList, TaskLine } from "../../task/task-line.ts";
import { latestTime, storable } from "../../task/time.ts";
import {
  type Codec,
  columnsOf,
  idOf,
  inClear,
  integerOrNull,
  type Row,
  storedOrNull,
  storedStarts,
  text,
  textOrStored,
  toStored,
  unlessUndecrypted,
} from "../row.ts";
import {
  inputIn,
  journalEnd,
  journalEntry,
  journalInput,
  lineTable,
  listedEntryIn,
  largeOutcomeBytes,
  outcomeBody,
  pieceBody,
  requestTable,
} from "../tables/of-task.ts";
import { assertProven, recordColumns } from "../tables/task.ts";
import { rangeOf, secretsIn } from "../secrets.ts";
import type { JournalPage, KeyedTask, QueuedPage, TaskFilter, WireName, ReserveMemory } from "../store.ts";
import type { Database, SqlValue } from "./database.ts";
import { defaultSchema, type Names, namesIn } from "./names.ts";
import { BatchedReads, readStatements, type ReadStatements } from "./read-sql.ts";
import { behindAllTexts, readableTasks, readTask, recordIfReadable, recordOf } from "./read-task.ts";
import type { Outcome } from "../../task/outcome.ts";
import { handlerOf, handlersIn } from "../admin-store.ts";
import type { StoredTasks } from "../export-journal.ts";
import type { KeyRing } from "../encryption-keys.ts";
import { Protection } from "../protection.ts";
import { openDatabase, unusableAt } from "./connections.ts";
import { prepareSchema } from "./migrate.ts";

const handlersAt = columnsOf(["handlers"]);

const keyedAt = columnsOf(["id", "idempotency_key"]);

const sweepAt = columnsOf(["at"]);

/**
 * Reads tasks. Everything that can change is read with one statement, so in one consistent view; pages of tasks use several if some are
 * unreadable.
 */
export class PostgresReader {
  readonly #database: Pick<Database, "read" | "codecs">;
  readonly #sql: ReadStatements;
  readonly #tasks: BatchedReads;
  readonly #withOutcomes: BatchedReads;
  readonly #requests: BatchedReads;

  constructor(database: Pick<Database, "read" | "codecs">, names: Names) {
    this.#database = database;
    this.#sql = readStatements(names);
    this.#tasks = new BatchedReads(database, this.#sql.tasks);
    this.#withOutcomes = new BatchedReads(database, this.#sql.withOutcomes);
    this.#requests = new BatchedReads(database, this.#sql.requests);
  }

  async get(id: string): Promise<TaskRecord | undefined> {
    const row = await this.#tasks.row(toStored(id));
    return row === undefined ? undefined : recordOf(row, this.#codec);
  }

  async snapshot(
    id: string,
    isVisible: (task: TaskRecord) => boolean = () => true,
    reserve?: ReserveMemory,
  ): Promise<TaskSnapshot | undefined> {
    const row = await this.#withOutcomes.row(toStored(id));
    if (row === undefined) return undefined;
    if (Number(row[bytesAt]) > largeOutcomeBytes) return this.#withLargeOutcome(id, row, isVisible, reserve);
    // A record and its outcome are written together, and the record says whether there is an outcome.
    const snapshot = readTask(id, () => snapshotOf(row, [], this.#codec, isVisible));
    if (snapshot === undefined || snapshot.task.openInputs === 0) return snapshot;
    const rows = await this.#database.read(this.#sql.snapshot, [toStored(id)]);
    const [first] = rows;
    return first === undefined
      ? undefined
      : readTask(id, () => snapshotOf(first, rows, this.#codec, isVisible));
  }

  /** An outcome never changes, so it may be read after its record. */
  async #withLargeOutcome(
    id: string,
    row: Row,
    isVisible: (task: TaskRecord) => boolean,
    reserve?: ReserveMemory,
  ): Promise<TaskSnapshot | undefined> {
    if (!isVisible(recordOf(row, this.#codec))) return undefined;
    await reserve?.(Number(row[bytesAt]));
    const outcome = await this.#first(this.#sql.outcome, [toStored(id)]);
    if (outcome === undefined) return undefined; // it was deleted in between
    const record = row.slice(0, outcomeFrom);
    return readTask(id, () => snapshotOf([...record, ...outcome], [], this.#codec, () => true));
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
    return row === undefined
      ? undefined
      : readTask(id, () => requestTable.read(id, row.slice(1), this.#codec));
  }

  async journal(id: string, from: string, limit: number): Promise<JournalPage> {
    const rows = await this.#database.read(this.#sql.journal, [toStored(id), toStored(from), limit + 1]);
    return readTask(id, () => {
      const entries = rows.map((row) => listedEntryIn(id, row, this.#codec));
      return { entries: entries.slice(0, limit), next: entries[limit]?.key ?? null };
    });
  }

  async journalEnds(id: string, keys: readonly string[]): Promise<readonly JournalEnd[]> {
    if (keys.length === 0) return [];
    const rows = await this.#database.read(this.#sql.journalEnds, [toStored(id), keys.map(toStored)]);
    return readTask(id, () => rows.map((row) => journalEnd.read(id, row, this.#codec)));
  }

  async journalEntry(id: string, key: string): Promise<JournalEntry | undefined> {
    const row = await this.#first(this.#sql.journalEntry, [toStored(id), toStored(key)]);
    return row === undefined ? undefined : readTask(id, () => journalEntry.read(id, row, this.#codec));
  }

  async lines(id: string, list: LineList, after: number, limit: number): Promise<readonly TaskLine[]> {
    const task = this.#codec === inClear ? undefined : await this.get(id);
    const rows = await this.#database.read(this.#sql.lines, [toStored(id), list, after, limit]);
    return readTask(id, () => {
      if (task !== undefined) assertProven(task);
      return rows.map((row) => lineTable.read(id, row, this.#codec));
    });
  }

  async piece(id: string, key: string, seq: number): Promise<string | undefined> {
    const task = this.#codec === inClear ? undefined : await this.get(id);
    const row = await this.#first(this.#sql.piece, [toStored(id), toStored(key), seq]);
    if (row === undefined) return undefined;
    return readTask(id, () => {
      if (task !== undefined) assertProven(task);
      return pieceBody.read(id, row, this.#codec).body;
    });
  }

  async list(
    filter: TaskFilter,
    before: string | null,
    limit: number,
    now: number,
  ): Promise<readonly TaskRecord[]> {
    const { sql, values } = this.#listOf(filter);
    const end = before === null ? behindAllTexts : toStored(before);
    return readableTasks(
      limit,
      (last, count) =>
        this.#database.read(sql, [...values, last === undefined ? end : String(last[0]), whole(now), count]),
      (row) => recordOf(row, this.#codec),
    );
  }

  async unfinished(after: string, limit: number): Promise<readonly TaskRecord[]> {
    return readableTasks(
      limit,
      (last, count) =>
        this.#database.read(this.#sql.unfinished, [
          last === undefined ? toStored(after) : String(last[0]),
          count,
        ]),
      (row) => recordOf(row, this.#codec),
    );
  }

  /** Whether the store has any task. */
  async hasTasks(): Promise<boolean> {
    return (await this.#first(this.#sql.anyTask, [])) !== undefined;
  }

  readonly secrets = async (name?: string): Promise<ReadonlyMap<string, string>> =>
    secretsIn(
      await (name === undefined
        ? this.#database.read(this.#sql.secrets)
        : this.#database.read(this.#sql.secretsIn, [...rangeOf(name)])),
    );

  get #codec(): Codec {
    return this.#database.codecs.reading;
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

  async queued({ method, tool }: HandlerName, page: QueuedPage): Promise<readonly string[]> {
    const { after, limit, blocked } = page;
    const select = blocked ? this.#sql.blocked : this.#sql.queued;
    return (await this.#database.read(select, [method, toStored(tool), toStored(after), limit])).map(idOf);
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
      const ofAll = listedGenerations.includes(generation) ? this.#sql.ofGeneration : this.#sql.ofUnlisted;
      if (principal === undefined) return { sql: ofAll, values: [generation] };
      return { sql: this.#sql.owned, values: [generation, storedOrNull(principal)] };
    }
    const values = [generation, toStored(scope)];
    if (principal === undefined) return { sql: this.#sql.ofScope, values };
    return { sql: this.#sql.ownedOfScope, values: [...values, storedOrNull(principal)] };
  }
}

/** A time to compare with a column of the database. */
function whole(time: number): number {
  return Math.floor(storable(time));
}

/** Where the parts of a snapshot's rows begin: the record, the outcome, a question, and the id and the record of the task below that asks it. */
const outcomeFrom = recordColumns.length;
/** In the rows of `withOutcomes`, the size of the outcome. */
const bytesAt = outcomeFrom + outcomeBody.names.length;
const inputFrom = bytesAt;
const askerFrom = inputFrom + journalInput.names.length;

/** The task of the rows that `snapshot` selects; undefined if it is not visible: then the rest is not read. */
export function snapshotOf(
  first: Row,
  rows: readonly Row[],
  codec: Codec,
  isVisible: (task: TaskRecord) => boolean,
): TaskSnapshot | undefined {
  const task = recordOf(first, codec);
  if (!isVisible(task)) return undefined;
  // A task without its key ends with an error of the server, which whoever has its id may know.
  if ((task.outcomeKind ?? "error") !== "error" || task.openInputs > 0) assertProven(task);
  const inputs = task.openInputs === 0 ? [] : inputsOf(task.id, rows, codec);
  return { task, inputs, outcome: outcomeOf(task, first, codec) };
}

function outcomeOf({ id, outcomeKind: kind }: TaskRecord, row: Row, codec: Codec): Outcome | null {
  if (kind === null) return null;
  const stored = row.slice(outcomeFrom);
  if (stored[0] === null) throw new Error("The outcome of this finished task is missing.");
  return { kind, ...outcomeBody.read(id, stored, codec) };
}

function inputsOf(id: string, rows: readonly Row[], codec: Codec): InputRequest[] {
  return rows.flatMap((row) => {
    const asked = row.slice(inputFrom, askerFrom);
    if (row[askerFrom] === null) return inputIn(id, asked, codec) ?? [];
    // If the asking task is unreadable, it is unknown which scopes an answer needs, and it could not accept one.
    const asker = recordIfReadable(row.slice(askerFrom + 1), codec);
    if (asker?.parent?.root !== id || asker.openInputs === 0) return [];
    const own = unlessUndecrypted(() => inputIn(asker.id, asked, codec));
    if (own === undefined) return [];
    const input = { ...own, key: childInputKey({ taskId: asker.id, key: own.key }) };
    const { requiredScopes } = asker;
    return requiredScopes.length > 0 ? { ...input, requiredScopes } : input;
  });
}

const connections = 2;
const timeoutMs = 5_000;

/**
 * Reads tasks of a schema without being one of its owners. Changes nothing. Rejects with `store_unusable` if there is no such database, or
 * if the schema is not ours or of another version.
 */
export async function readPostgres<T>(
  url: string,
  { schema = defaultSchema }: { readonly schema?: string },
  read: (tasks: StoredTasks) => T | Promise<T>,
  keys?: KeyRing,
): Promise<T> {
  const names = namesIn(schema);
  const database = await openDatabase({ url, max: connections, timeoutMs });
  try {
    await prepareSchema(database, names, undefined);
    const reader = new PostgresReader(database, names);
    const sealing = await Protection.readOnly(reader.secrets, keys);
    if (sealing !== undefined) database.codecs.use(sealing);
    return await read(reader);
  } catch (error) {
    throw unusableAt(url, error);
  } finally {
    await database.close();
  }
}

import type { InputRequest } from "../../task/journal.ts";
import { type HandlerName, hasHandler } from "../../task/queue.ts";
import type { TaskRecord, TaskRequest, TaskSnapshot } from "../../task/record.ts";
import { latestTime } from "../../task/time.ts";
import { type Codec, columnsOf, integerOrNull, type Row, textOrStored, toStored } from "../row.ts";
import {
  inputBelow,
  inputIn,
  journalInput,
  largeOutcomeBytes,
  outcomeBody,
  requestTable,
} from "../tables/of-task.ts";
import { assertProven, recordColumns } from "../tables/task.ts";
import type { ReserveMemory } from "../store.ts";
import type { Database, SqlValue } from "./database.ts";
import { defaultSchema, type Names, namesIn } from "./names.ts";
import { BatchedReads, readStatements, type ReadStatements } from "./read-sql.ts";
import { readsOf, readTask, recordIfReadable, recordOf } from "./read-task.ts";
import type { Read } from "../dialect.ts";
import { TaskReads, whole } from "../task-reads.ts";
import type { Outcome } from "../../task/outcome.ts";
import { handlerOf, handlersIn } from "../admin-store.ts";
import type { StoredTasks } from "../export-journal.ts";
import type { KeyRing } from "../encryption-keys.ts";
import { Protection } from "../protection.ts";
import { openDatabase, unusableAt } from "./connections.ts";
import { prepareSchema } from "./migrate.ts";

const handlersAt = columnsOf(["handlers"]);

const sweepAt = columnsOf(["at"]);

/**
 * Reads tasks. Everything that can change is read with one statement, so in one consistent view; pages of tasks use several if some are
 * unreadable.
 */
export class PostgresReader extends TaskReads implements StoredTasks {
  protected readonly read: Read;
  readonly #database: Pick<Database, "read" | "codecs">;
  readonly #sql: ReadStatements;
  readonly #tasks: BatchedReads;
  readonly #withOutcomes: BatchedReads;
  readonly #requests: BatchedReads;

  constructor(database: Pick<Database, "read" | "codecs">, names: Names) {
    const sql = readStatements(names);
    super(sql);
    this.read = readsOf(() => database);
    this.#database = database;
    this.#sql = sql;
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

  async request(id: string): Promise<TaskRequest | undefined> {
    const row = await this.#requests.row(toStored(id));
    return row === undefined
      ? undefined
      : readTask(id, () => requestTable.read(id, row.slice(1), this.#codec));
  }

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

  async nextSweepAt(after: number): Promise<number | null> {
    const row = await this.#first(this.#sql.nextSweep, [whole(after), latestTime]);
    return row === undefined ? null : integerOrNull(row, sweepAt.at);
  }

  async #first(sql: string, values: readonly SqlValue[]): Promise<Row | undefined> {
    const [row] = await this.#database.read(sql, values);
    return row;
  }
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
    const asker = recordIfReadable(row.slice(askerFrom + 1), codec);
    if (asker === undefined || asker.openInputs === 0) return [];
    return inputBelow(id, asker, () => inputIn(asker.id, asked, codec));
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

import type { InputRequest } from "../../task/journal.ts";
import { type Codec, columnsOf, integerOrNull, type Row, toStored } from "../row.ts";
import {
  inputBelow,
  inputIn,
  largeOutcomeBytes,
  listedEntryIn,
  outcomeBody,
  requestTable,
} from "../tables/of-task.ts";
import { assertProven, recordColumns } from "../tables/task.ts";
import { readingCodecOf, type Sealing } from "../cipher.ts";
import type { Reading } from "../dialect.ts";
import { type ClaimingHandler, type HandlerName, noTurns } from "../../task/queue.ts";
import type { TaskRecord, TaskRequest, TaskSnapshot } from "../../task/record.ts";
import type { QueueLength } from "../admin-store.ts";
import type { JournalPage, ListedEntry } from "../store.ts";
import type { LoggedChanges } from "./change-log.ts";
import { connect } from "./connect.ts";
import { KnownSnapshots } from "./known-records.ts";
import { recordOf, Statements } from "./statements.ts";
import { OtherOwners, SqliteOwners } from "./sqlite-owners.ts";
import { readableTask } from "./readable-rows.ts";
import { SqliteQueue } from "./sqlite-queue.ts";
import * as sql from "./sql.ts";
import { latestTime } from "../../task/time.ts";

/** The most bytes of texts in one page of a journal: SQLite passes them on its way to the columns behind them. */
const maxPassedBytes = 4 * 1024 * 1024;

const sweepAt = columnsOf(["at"]);

/**
 * Reads through a separate read-only connection. Everything that can change is read with one statement, so in one consistent view; pages of
 * tasks use several if some are unreadable.
 */
export class SqliteReader {
  readonly #sql: Statements;
  readonly #queue: SqliteQueue;
  readonly #owners: SqliteOwners;
  readonly #known: KnownSnapshots | undefined;

  /** `known`: of a connection that only reads. */
  constructor(statements: Statements, known?: KnownSnapshots) {
    this.#sql = statements;
    this.#known = known;
    this.#queue = new SqliteQueue(statements);
    this.#owners = new SqliteOwners(statements);
  }

  read<T>(reading: (codec: Codec) => Reading<T>): T {
    return this.#sql.read(reading(this.#sql.codec));
  }

  task(id: string): TaskRecord | undefined {
    const row = this.#sql.get(sql.taskStatements.task, toStored(id));
    return row === undefined ? undefined : recordOf(row, this.#sql.codec);
  }

  snapshot(id: string, isVisible: (task: TaskRecord) => boolean): TaskSnapshot | undefined {
    const known = this.#known?.get(id);
    const task = known?.task ?? this.task(id);
    if (task === undefined || !isVisible(task)) return undefined;
    if (known !== undefined) return known;
    return task.openInputs === 0 ? this.#snapshotWithOutcome(task) : this.#snapshotWithInputs(id);
  }

  /** The same, or the stored size of the outcome, in bytes, if that is large. */
  snapshotUnlessLarge(
    id: string,
    isVisible: (task: TaskRecord) => boolean,
  ): TaskSnapshot | number | undefined {
    const known = this.#known?.get(id);
    const task = known?.task ?? this.task(id);
    if (task === undefined || !isVisible(task)) return undefined;
    if (known !== undefined) return known;
    if (task.openInputs > 0) return this.#snapshotWithInputs(id);
    if (task.outcomeKind === null) return this.#kept({ task, inputs: [], outcome: null });
    const row = this.#sql.get(sql.selectSmallOutcome, toStored(id));
    const bytes = Number(row?.[1]);
    return bytes > largeOutcomeBytes ? bytes : this.#snapshotWithOutcome(task, row);
  }

  #snapshotWithInputs(id: string): TaskSnapshot | undefined {
    const rows = this.#sql.all(sql.selectTaskWithInputs, toStored(id));
    const [first] = rows;
    if (first === undefined) return undefined;
    const task = recordOf(first, this.#sql.codec);
    if (task.openInputs === 0) return this.#snapshotWithOutcome(task); // a commit happened in between
    if (task.childInputs > 0 && !this.#sql.db.isTransaction) {
      return this.#inOneView(() => this.#snapshotWithInputs(id));
    }
    const below =
      task.childInputs === 0
        ? []
        : childInputsOf(id, this.#sql.all(sql.selectChildInputs, toStored(id)), this.#sql.codec);
    assertProven(task);
    return { task, inputs: [...inputsOf(id, rows, this.#sql.codec), ...below], outcome: null };
  }

  #inOneView<T>(read: () => T): T {
    this.#sql.db.exec("BEGIN");
    try {
      return read();
    } finally {
      this.#sql.db.exec("COMMIT");
    }
  }

  /** An outcome never changes, so it may be read after its record. */
  #snapshotWithOutcome(task: TaskRecord, outcome?: Row): TaskSnapshot | undefined {
    const { id, outcomeKind: kind } = task;
    if (kind === null) return this.#kept({ task, inputs: [], outcome: null });
    const row = outcome ?? this.#sql.get(sql.taskStatements.outcome, toStored(id));
    if (row !== undefined) {
      // A task without its key ends with an error of the server, which whoever has its id may know.
      if (kind !== "error") assertProven(task);
      const { body } = outcomeBody.read(id, row, this.#sql.codec);
      return this.#kept({ task, inputs: [], outcome: { kind, body } });
    }
    if (this.#sql.get(sql.taskStatements.task, toStored(id)) === undefined) return undefined; // it was deleted in between
    throw new Error("The outcome of this finished task is missing.");
  }

  #kept(snapshot: TaskSnapshot): TaskSnapshot {
    this.#known?.keep(snapshot);
    return snapshot;
  }

  request(id: string): TaskRequest | undefined {
    const row = this.#sql.get(sql.selectRequest, toStored(id));
    return row === undefined ? undefined : requestTable.read(id, row, this.#sql.codec);
  }

  journal(id: string, from: string, limit: number): JournalPage {
    const entries: ListedEntry[] = [];
    let passed = 0;
    for (const row of this.#sql
      .rows(sql.taskStatements.journal)
      .iterate(toStored(id), toStored(from), limit + 1)) {
      const entry = listedEntryIn(id, row, this.#sql.codec);
      if (entries.length === limit || passed >= maxPassedBytes) return { entries, next: entry.key };
      entries.push(entry);
      passed += entry.bytes;
    }
    return { entries, next: null };
  }

  nextSweepAt(after: number): number | null {
    const row = this.#sql.get(sql.selectNextSweep, after, latestTime, after, latestTime);
    const times = [row === undefined ? null : integerOrNull(row, sweepAt.at), this.#queue.nextWakeAt(after)];
    const found = times.filter((at) => at !== null);
    return found.length === 0 ? null : Math.min(...found);
  }

  hasClaimable(handlers: readonly ClaimingHandler[], own: string): boolean {
    const query = { handlers, turns: noTurns, limit: 1 };
    const { tasks, suspectsWait } = this.#queue.runnable(query, this.#owners.mayTake(own));
    return tasks.length > 0 || suspectsWait;
  }

  orphanedHandlers(): readonly HandlerName[] {
    return this.#queue.handlers().filter((handler) => !this.#owners.serve(handler));
  }

  queueLengths(most: number): Generator<QueueLength, void, undefined> {
    return this.#queue.lengths(most);
  }

  /** Reads for the owner `own`, through this connection, what others do. */
  othersThan(own: string, path: string, publish: (changes: LoggedChanges) => void): OtherOwners {
    return new OtherOwners(path, own, this.#sql, publish);
  }

  encrypt(sealing: Sealing): void {
    this.#sql.codec = readingCodecOf(sealing);
    this.#known?.forgetAll();
  }

  close(): void {
    this.#sql.db.close();
  }
}

/** Opens the reader on a database that the writer has already upgraded. */
export function openReader(path: string, busyTimeoutMs: number): SqliteReader {
  const statements = new Statements(connect(path, { readOnly: true, timeout: busyTimeoutMs }));
  return new SqliteReader(statements, new KnownSnapshots(statements));
}

/** The open questions of a task, from rows of the task joined with them. */
function inputsOf(id: string, rows: readonly Row[], codec: Codec): InputRequest[] {
  return rows.flatMap((row) => inputIn(id, row.slice(recordColumns.length), codec) ?? []);
}

/** The open questions of the tasks below it. */
function childInputsOf(root: string, rows: readonly Row[], codec: Codec): InputRequest[] {
  return rows.flatMap((row) => {
    const asker = readableTask(row, [], codec);
    return asker === undefined ? [] : inputBelow(root, asker, () => inputsOf(asker.id, [row], codec)[0]);
  });
}

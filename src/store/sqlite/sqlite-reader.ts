import { type JournalEnd, type JournalEntry, childInputKey, type InputRequest } from "../../task/journal.ts";
import type { SQLInputValue } from "node:sqlite";
import {
  type Codec,
  columnsOf,
  idOf,
  inClear,
  integerOrNull,
  type Row,
  storedStarts,
  text,
  toStored,
  unlessUndecrypted,
} from "../row.ts";
import {
  inputIn,
  largeOutcomeBytes,
  journalEnd,
  journalEntry,
  lineTable,
  listedEntryIn,
  outcomeBody,
  pieceBody,
  requestTable,
  requestIdText,
} from "../tables/of-task.ts";
import { sessionTable } from "../tables/tables.ts";
import { assertProven, recordColumns } from "../tables/task.ts";
import { readingCodecOf, type Sealing } from "../cipher.ts";
import { type ClaimingHandler, compareNames, type HandlerName, noTurns } from "../../task/queue.ts";
import type { TaskRecord, TaskRequest, TaskSnapshot } from "../../task/record.ts";
import type { LineList, TaskLine } from "../../task/task-line.ts";
import { ownersPage, type PieceOwner } from "../left-pieces.ts";
import type { LimitPlace } from "../limits.ts";
import type { QueueLength } from "../admin-store.ts";
import { rangeOf, secretsIn } from "../secrets.ts";
import type { StoredSession } from "../session-store.ts";
import type { JournalPage, KeyedTask, ListedEntry, QueuedPage, TaskFilter, WireName } from "../store.ts";
import type { LoggedChanges } from "./change-log.ts";
import { connect } from "./connect.ts";
import { KnownSnapshots } from "./known-records.ts";
import { recordOf, Statements } from "./statements.ts";
import { OtherOwners, SqliteOwners } from "./sqlite-owners.ts";
import { behindAllTexts, readablePage, readableTask } from "./readable-rows.ts";
import { SqliteAdmin } from "./sqlite-admin.ts";
import { SqliteBulk } from "./sqlite-bulk.ts";
import { limitPlacesOf } from "./sqlite-limits.ts";
import { SqliteOutbox } from "./sqlite-outbox.ts";
import { SqliteReports } from "./sqlite-reports.ts";
import { SqliteQueue } from "./sqlite-queue.ts";
import * as sql from "./sql.ts";
import { latestTime } from "../../task/time.ts";

/** The most bytes of texts in one page of a journal: SQLite passes them on its way to the columns behind them. */
const maxPassedBytes = 4 * 1024 * 1024;

const keyedAt = columnsOf(["id", "idempotency_key"]);

const sweepAt = columnsOf(["at"]);

/**
 * Reads through a separate read-only connection. Everything that can change is read with one statement, so in one consistent view; pages of
 * tasks use several if some are unreadable.
 */
export class SqliteReader {
  readonly #sql: Statements;
  readonly admin: SqliteAdmin;
  readonly bulk: SqliteBulk;
  readonly outbox: SqliteOutbox;
  readonly reports: SqliteReports;
  readonly #queue: SqliteQueue;
  readonly #owners: SqliteOwners;
  readonly #known: KnownSnapshots | undefined;

  /** `known`: of a connection that only reads. */
  constructor(statements: Statements, known?: KnownSnapshots) {
    this.#sql = statements;
    this.#known = known;
    this.admin = new SqliteAdmin(statements);
    this.bulk = new SqliteBulk(statements);
    this.outbox = new SqliteOutbox(statements);
    this.reports = new SqliteReports(statements);
    this.#queue = new SqliteQueue(statements);
    this.#owners = new SqliteOwners(statements);
  }

  task(id: string): TaskRecord | undefined {
    const row = this.#sql.get(sql.selectTask, toStored(id));
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
    const row = outcome ?? this.#sql.get(sql.selectOutcomeBody, toStored(id));
    if (row !== undefined) {
      // A task without its key ends with an error of the server, which whoever has its id may know.
      if (kind !== "error") assertProven(task);
      const { body } = outcomeBody.read(id, row, this.#sql.codec);
      return this.#kept({ task, inputs: [], outcome: { kind, body } });
    }
    if (this.#sql.get(sql.selectTask, toStored(id)) === undefined) return undefined; // it was deleted in between
    throw new Error("The outcome of this finished task is missing.");
  }

  #kept(snapshot: TaskSnapshot): TaskSnapshot {
    this.#known?.keep(snapshot);
    return snapshot;
  }

  find({ generation, scope, wireId }: WireName): string | undefined {
    const row = this.#sql.get(sql.selectIdByWireId, generation, toStored(scope), toStored(wireId));
    return row === undefined ? undefined : idOf(row);
  }

  withKeys(principal: string | null, prefix: string, limit: number): KeyedTask[] {
    const holder = toStored(principal ?? "");
    const rows = storedStarts(prefix).flatMap((start) =>
      this.#sql.all(sql.selectKeyed, holder, start, `${start}\u{10ffff}`, limit),
    );
    const keyed = rows.map((row) => ({ id: idOf(row), key: text(row, keyedAt.idempotency_key) }));
    return keyed.sort((a, b) => compareNames(a.key, b.key)).slice(0, limit);
  }

  request(id: string): TaskRequest | undefined {
    const row = this.#sql.get(sql.selectRequest, toStored(id));
    return row === undefined ? undefined : requestTable.read(id, row, this.#sql.codec);
  }

  journal(id: string, from: string, limit: number): JournalPage {
    const entries: ListedEntry[] = [];
    let passed = 0;
    for (const row of this.#sql.rows(sql.selectJournal).iterate(toStored(id), toStored(from), limit + 1)) {
      const entry = listedEntryIn(id, row, this.#sql.codec);
      if (entries.length === limit || passed >= maxPassedBytes) return { entries, next: entry.key };
      entries.push(entry);
      passed += entry.bytes;
    }
    return { entries, next: null };
  }

  journalEnds(id: string, keys: readonly string[]): JournalEnd[] {
    const rows = keys.map((key) => this.#sql.get(sql.selectJournalEnd, toStored(id), toStored(key)));
    return rows.flatMap((row) => (row === undefined ? [] : [journalEnd.read(id, row, this.#sql.codec)]));
  }

  journalEntry(id: string, key: string): JournalEntry | undefined {
    const row = this.#sql.get(sql.selectJournalEntry, toStored(id), toStored(key));
    return row === undefined ? undefined : journalEntry.read(id, row, this.#sql.codec);
  }

  lines(id: string, list: LineList, after: number, limit: number): TaskLine[] {
    if (this.#sql.codec !== inClear) this.#assertProven(id);
    return this.#sql
      .all(sql.selectLines, toStored(id), list, after, limit)
      .map((row) => lineTable.read(id, row, this.#sql.codec));
  }

  piece(id: string, key: string, seq: number): string | undefined {
    if (this.#sql.codec !== inClear) this.#assertProven(id);
    const row = this.#sql.get(sql.selectPiece, toStored(id), toStored(key), seq);
    return row === undefined ? undefined : pieceBody.read(id, row, this.#sql.codec).body;
  }

  pieceOwners(after: string): readonly PieceOwner[] {
    const owners: PieceOwner[] = [];
    for (let last = toStored(after); owners.length < ownersPage;) {
      const row = this.#sql.get(sql.selectPieceOwner, last);
      if (row === undefined) break;
      owners.push({ id: idOf(row), exists: Number(row[1]) === 1 });
      last = String(row[0]);
    }
    return owners;
  }

  limitPlaces(taskId: string): readonly LimitPlace[] {
    return limitPlacesOf(this.#sql, taskId);
  }

  list(
    { generation, principal, scope }: TaskFilter,
    before: string | null,
    limit: number,
    now: number,
  ): TaskRecord[] {
    const from = before === null ? behindAllTexts : toStored(before);
    if (scope !== undefined) {
      const anybody = Number(principal === undefined);
      const of = [generation, toStored(scope), anybody, principal == null ? null : toStored(principal)];
      return this.#page(from, limit, (end, count) =>
        this.#sql.all(sql.selectOfScope, ...of, end, now, count),
      );
    }
    if (principal === undefined) {
      return this.#page(from, limit, (end, count) =>
        this.#sql.all(sql.selectOfGeneration, generation, end, now, count),
      );
    }
    const owner = [generation, principal === null ? null : toStored(principal)];
    return this.#page(from, limit, (end, count) => this.#sql.all(sql.selectOwned, ...owner, end, now, count));
  }

  unfinished(after: string, limit: number): TaskRecord[] {
    return this.#page(toStored(after), limit, (start, count) =>
      this.#sql.all(sql.selectUnfinished, start, count),
    );
  }

  #assertProven(id: string): void {
    const task = this.task(id);
    if (task !== undefined) assertProven(task);
  }

  #page(
    from: SQLInputValue,
    limit: number,
    page: (from: SQLInputValue, limit: number) => Row[],
  ): TaskRecord[] {
    return readablePage(from, limit, page, (row) => recordOf(row, this.#sql.codec));
  }

  due(now: number, limit: number): string[] {
    return this.#sql.all(sql.selectDue, now, limit).map(idOf);
  }

  nextSweepAt(after: number): number | null {
    const row = this.#sql.get(sql.selectNextSweep, after, latestTime, after, latestTime);
    const times = [row === undefined ? null : integerOrNull(row, sweepAt.at), this.#queue.nextWakeAt(after)];
    const found = times.filter((at) => at !== null);
    return found.length === 0 ? null : Math.min(...found);
  }

  session(id: string): StoredSession | undefined {
    const row = this.#sql.get(sql.selectSession, toStored(id));
    return row === undefined
      ? undefined
      : unlessUndecrypted(() => sessionTable.read(id, row, this.#sql.codec));
  }

  tasksOf(from: string, limit: number, requestId?: string | number): string[] {
    const rows =
      requestId === undefined
        ? this.#sql.all(sql.selectTasksOfSession, toStored(from), limit)
        : this.#sql.all(sql.selectTasksOfRequest, toStored(from), requestIdText(requestId), limit);
    return rows.map(idOf);
  }

  hasClaimable(handlers: readonly ClaimingHandler[], own: string): boolean {
    const query = { handlers, turns: noTurns, limit: 1 };
    const { tasks, suspectsWait } = this.#queue.runnable(query, this.#owners.mayTake(own));
    return tasks.length > 0 || suspectsWait;
  }

  orphanedHandlers(): readonly HandlerName[] {
    return this.#queue.handlers().filter((handler) => !this.#owners.serve(handler));
  }

  queued({ method, tool }: HandlerName, { after, limit, blocked }: QueuedPage): readonly string[] {
    const select = blocked ? sql.selectBlocked : sql.selectQueued;
    return this.#sql.all(select, method, toStored(tool), toStored(after), limit).map(idOf);
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

  hasTasks(): boolean {
    return this.#sql.get(sql.selectAnyTask) !== undefined;
  }

  readonly secrets = (name?: string): ReadonlyMap<string, string> =>
    secretsIn(
      name === undefined
        ? this.#sql.all(sql.selectSecrets)
        : this.#sql.all(sql.selectSecretsIn, ...rangeOf(name)),
    );

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
export function inputsOf(id: string, rows: readonly Row[], codec: Codec): InputRequest[] {
  return rows.flatMap((row) => inputIn(id, row.slice(recordColumns.length), codec) ?? []);
}

/** The open questions of the tasks below it. An unreadable one is left out: nobody could answer it. */
export function childInputsOf(root: string, rows: readonly Row[], codec: Codec): InputRequest[] {
  return rows.flatMap((row) => {
    const asker = readableTask(row, [], codec);
    if (asker?.parent?.root !== root) return [];
    const [asked] = unlessUndecrypted(() => inputsOf(asker.id, [row], codec)) ?? [];
    if (asked === undefined) return [];
    const { id: taskId, requiredScopes } = asker;
    const key = childInputKey({ taskId, key: asked.key });
    return { ...asked, key, ...(requiredScopes.length > 0 && { requiredScopes }) };
  });
}

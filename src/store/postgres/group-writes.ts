import type { JournalEntry } from "../../task/journal.ts";
import type { Outcome } from "../../task/outcome.ts";
import type { TaskRecord, TaskRequest } from "../../task/record.ts";
import { compareNames } from "../../task/queue.ts";
import { journalRowOf } from "../journal-row.ts";
import { eventPlace, outcomePlace, type Codec } from "../codec.ts";
import { requestRowOf } from "../request-row.ts";
import { toStored } from "../stored-text.ts";
import { lineRowOf } from "../line-row.ts";
import type { TableWrite } from "../table-write.ts";
import type { AdminStatements } from "./admin-sql.ts";
import { AdminWrites } from "./admin-writes.ts";
import type { Queries, SqlValue } from "./database.ts";
import type { OwnerStatements } from "./owner-sql.ts";
import type { OutboxStatements } from "./outbox-sql.ts";
import { OutboxWrites } from "./outbox-writes.ts";
import { arraysOf, columns, requestIdText, stored } from "./task-row.ts";
import type { WriteStatements } from "./task-sql.ts";

type Columns = readonly (readonly (string | number | null)[])[];
type Kept = Extract<TableWrite, { do: "keep_event" }>;
type Appended = Extract<TableWrite, { do: "append_lines" }>;
type Retired = Extract<TableWrite, { do: "retire_owner" }>;

const changing = columns.filter(({ changes }) => changes);

/** The writes of a group of commands: only the last version of each row. */
export class GroupWrites {
  readonly #inserts = new Map<string, { task: TaskRecord; readonly request: TaskRequest }>();
  readonly #updates = new Map<string, TaskRecord>();
  readonly #entries = new Map<string, Map<string, JournalEntry>>();
  readonly #forgets = new Set<string>();
  readonly #outcomes = new Map<string, Outcome>();
  readonly #removes = new Set<string>();
  #events: Kept[] = [];
  readonly #taken: number[] = [];
  #appended: Appended[] = [];
  readonly #secrets = new Map<string, string>();
  readonly #retired: Retired[] = [];
  readonly admin = new AdminWrites();
  readonly outbox = new OutboxWrites();

  insert(task: TaskRecord, request: TaskRequest): void {
    this.#inserts.set(task.id, { task, request });
  }

  save(task: TaskRecord): void {
    const inserted = this.#inserts.get(task.id);
    if (inserted === undefined) this.#updates.set(task.id, task);
    else inserted.task = task;
  }

  journal(id: string, entries: readonly JournalEntry[]): void {
    if (entries.length === 0) return;
    const pending = this.#entries.get(id) ?? new Map<string, JournalEntry>();
    this.#entries.set(id, pending);
    for (const entry of entries) pending.set(entry.key, entry);
  }

  forgetFailures(id: string, isFailure: (entry: JournalEntry) => boolean): void {
    this.#forgets.add(id);
    const pending = this.#entries.get(id);
    for (const entry of pending?.values() ?? []) if (isFailure(entry)) pending?.delete(entry.key);
  }

  outcome(id: string, outcome: Outcome): void {
    this.#outcomes.set(id, outcome);
  }

  remove(id: string): void {
    for (const pending of [this.#updates, this.#entries, this.#outcomes, this.#forgets]) pending.delete(id);
    this.#events = this.#events.filter(({ taskId }) => taskId !== id);
    this.#appended = this.#appended.filter((write) => write.id !== id);
    if (!this.#inserts.delete(id)) this.#removes.add(id);
  }

  keepEvent(write: Kept): void {
    this.#events.push(write);
  }

  takeEvent(seq: number): void {
    this.#taken.push(seq);
  }

  append(write: Appended): void {
    this.#appended.push(write);
  }

  secret(name: string, value: string): void {
    this.#secrets.set(name, value);
  }

  retire(write: Retired): void {
    this.#retired.push(write);
  }

  get isEmpty(): boolean {
    const all = [
      this.#inserts,
      this.#updates,
      this.#removes,
      this.#events,
      this.#taken,
      this.#secrets,
      this.#retired,
    ];
    const isDone = this.admin.isEmpty && this.outbox.isEmpty;
    return isDone && all.every((each) => ("size" in each ? each.size : each.length) === 0);
  }

  /** Whether it leaves tasks that any owner may claim. */
  get wakes(): boolean {
    const tasks = [...this.#updates.values(), ...[...this.#inserts.values()].map(({ task }) => task)];
    return tasks.some(({ state, lane, owner }) => state === "queued" && lane !== null && owner === null);
  }

  /** Sends all writes. A failure is reported when the transaction commits. */
  send(
    queries: Queries,
    codec: Codec,
    sql: WriteStatements & AdminStatements & OutboxStatements,
    owners: OwnerStatements,
  ): void {
    const send = (statement: string, ...values: SqlValue[]): void =>
      void queries.query(statement, values).catch(() => undefined);
    const sendRows = (statement: string, rows: Columns): void => {
      if (rows.length > 0) send(statement, ...transposed(rows));
    };
    this.#sendRemoves(send, sql);
    // Before new rows: one may have a key that another task gives up.
    const updates = [...this.#updates.values()];
    if (updates.length > 0) {
      send(
        sql.updateTasks,
        updates.map(({ id }) => toStored(id)),
        ...arraysOf(changing, updates, codec),
      );
    }
    const inserts = [...this.#inserts.values()];
    if (inserts.length > 0) {
      send(
        sql.insertTasks,
        ...arraysOf(
          columns,
          inserts.map(({ task }) => task),
          codec,
        ),
      );
      sendRows(
        sql.insertRequests,
        inserts.map((insert) => requestRow(insert, codec)),
      );
      sendRows(
        sql.insertChildren,
        inserts.flatMap(({ task }) => childRow(task)),
      );
    }
    if (this.#forgets.size > 0) send(sql.deleteFailures, [...this.#forgets].map(toStored));
    const entries = [...this.#entries].flatMap(([id, of]) =>
      [...of.values()].map((entry) => ({ id, entry })),
    );
    sendRows(
      sql.upsertJournal,
      entries.map(({ id, entry }) => [toStored(id), ...journalRowOf(id, entry, codec)]),
    );
    sendRows(
      sql.insertOutcomes,
      [...this.#outcomes].map((outcome) => outcomeRow(outcome, codec)),
    );
    sendRows(
      sql.insertEvents,
      this.#events.map((event) => eventRow(event, codec)),
    );
    for (const each of [sql.forgetEvents, sql.deleteEvents])
      if (this.#taken.length > 0) send(each, this.#taken);
    this.#sendLines(sendRows, sql, codec);
    this.admin.send(send, sql);
    this.outbox.send(send, sql);
    const secrets = [...this.#secrets].sort(([a], [b]) => compareNames(a, b));
    sendRows(
      sql.insertSecrets,
      secrets.map((secret) => secret.map(toStored)),
    );
    for (const { owner, forgetAt } of this.#retired) {
      send(owners.deleteMessages, owner);
      send(owners.unmarkCommits, owner);
      send(owners.retire, owner);
      if (forgetAt !== null) send(owners.forget, owner, forgetAt);
    }
  }

  #sendLines(sendRows: (statement: string, rows: Columns) => void, sql: WriteStatements, codec: Codec): void {
    const added = new Map<string, (string | number)[]>();
    const forgotten = new Map<string, (string | number)[]>();
    for (const { id, lines, forget } of this.#appended) {
      const taskId = toStored(id);
      for (const line of lines) {
        const name = `${line.list} ${line.seq} ${id}`;
        added.set(name, [taskId, ...lineRowOf(id, line, codec)]);
        forgotten.delete(name);
      }
      for (const seq of forget) forgotten.set(`log ${seq} ${id}`, [taskId, seq]);
    }
    sendRows(sql.insertLines, [...added.values()]);
    sendRows(sql.deleteLines, [...forgotten.values()]);
  }

  #sendRemoves(send: (statement: string, ids: readonly string[]) => void, sql: WriteStatements): void {
    if (this.#removes.size === 0) return;
    const ids = [...this.#removes].map(toStored);
    send(sql.deleteTasks, ids);
    for (const each of [sql.deleteRequests, sql.deleteJournals, sql.deleteOutcomes, sql.deleteChildren])
      send(each, ids);
    for (const each of [sql.deleteEventsOf, sql.deleteLinesOf, sql.deleteMessagesOf]) send(each, ids);
  }
}

/** The columns of rows, for `unnest`. */
function transposed(rows: Columns): (readonly (string | number | null)[])[] {
  return (rows[0] ?? []).map((_, place) => rows.map((row) => row[place] ?? null));
}

function requestRow(
  { task, request }: { readonly task: TaskRecord; readonly request: TaskRequest },
  codec: Codec,
) {
  const { session, requestId } = request.origin;
  const id = session === undefined || requestId === undefined ? null : toStored(requestIdText(requestId));
  const from = session === undefined ? null : toStored(session);
  return [toStored(task.id), ...requestRowOf(task.id, request, codec), from, id];
}

function childRow({ id, parent }: TaskRecord) {
  return parent === null ? [] : [[id, parent.id, parent.root, parent.key].map(toStored)];
}

/** The record says more about a result than this table. */
function outcomeRow([id, { kind, body }]: [string, Outcome], codec: Codec) {
  return [toStored(id), kind === "error" ? "error" : "result", toStored(codec.seal(body, outcomePlace(id)))];
}

function eventRow({ taskId, name, value, dedupeId, taken }: Kept, codec: Codec) {
  const sealed = taken ? null : toStored(codec.seal(value, eventPlace(taskId, name)));
  return [toStored(taskId), toStored(name), sealed, stored(dedupeId)];
}

import { goesWith, type ForgottenRounds } from "../../task/journal-changes.ts";
import type { JournalEntry } from "../../task/journal.ts";
import type { Outcome } from "../../task/outcome.ts";
import type { TaskRecord, TaskRequest } from "../../task/record.ts";
import { compareNames } from "../../task/queue.ts";
import { type Codec, inClear, toStored } from "../row.ts";
import {
  childTable,
  childOf,
  eventTable,
  journalTable,
  lineTable,
  outcomeTable,
  placeOf,
  requestTable,
  storedOutcome,
} from "../tables/of-task.ts";
import { byColumn } from "../tables/statements.ts";
import { secretTable } from "../tables/tables.ts";
import { rowOf, taskTable } from "../tables/task.ts";
import type { Stored } from "../tables/kind.ts";
import type { TableWrite } from "../table-write.ts";
import type { AdminStatements } from "./postgres-admin.ts";
import { AdminWrites, OutboxWrites, PieceWrites, type WriteSink } from "./write-batch.ts";
import type { SqlValue } from "./database.ts";
import type { OwnerStatements } from "./ownership.ts";
import type { OutboxStatements } from "./postgres-outbox.ts";
import { BulkWrites, type BulkStatements } from "./postgres-bulk.ts";
import type { WriteStatements } from "./task-sql.ts";

type Rows = readonly (readonly Stored[])[];
type SendRows = (statement: string, rows: Rows) => void;
type PlacedEntry = JournalEntry & { readonly place: number };
type Kept = Extract<TableWrite, { do: "keep_event" }>;
type Appended = Extract<TableWrite, { do: "append_lines" }>;
type Retired = Extract<TableWrite, { do: "retire_owner" }>;
type Drained = Extract<TableWrite, { do: "drain_owner" }>;

/** The writes of a group of commands: only the last version of each row. */
export class GroupWrites {
  readonly #inserts = new Map<string, { task: TaskRecord; readonly request: TaskRequest }>();
  readonly #updates = new Map<string, { readonly before: TaskRecord; after: TaskRecord }>();
  readonly #entries = new Map<string, Map<string, PlacedEntry>>();
  readonly #forgets = new Set<string>();
  readonly #rounds = new Map<string, ForgottenRounds[]>();
  readonly #outcomes = new Map<string, Outcome>();
  readonly #removes = new Set<string>();
  #events: Kept[] = [];
  readonly #taken: number[] = [];
  #appended: Appended[] = [];
  readonly #retired: Retired[] = [];
  readonly #drained: Drained[] = [];
  readonly secrets = new SecretWrites();
  readonly pieces = new PieceWrites();
  readonly admin = new AdminWrites();
  readonly outbox = new OutboxWrites();
  readonly bulk = new BulkWrites();

  insert(task: TaskRecord, request: TaskRequest): void {
    this.#inserts.set(task.id, { task, request });
  }

  save(before: TaskRecord, after: TaskRecord): void {
    const inserted = this.#inserts.get(after.id);
    const updated = this.#updates.get(after.id);
    if (inserted !== undefined) inserted.task = after;
    else if (updated !== undefined) updated.after = after;
    else this.#updates.set(after.id, { before, after });
  }

  /** Entries that were written with this version of their task. */
  journal(task: TaskRecord, entries: readonly JournalEntry[]): void {
    if (entries.length === 0) return;
    const pending = this.#entries.get(task.id) ?? new Map<string, PlacedEntry>();
    this.#entries.set(task.id, pending);
    for (const [index, entry] of entries.entries()) {
      const place = pending.get(entry.key)?.place ?? placeOf(task, index);
      pending.set(entry.key, { ...entry, place });
    }
  }

  forgetFailures(id: string, isFailure: (entry: JournalEntry) => boolean): void {
    this.#forgets.add(id);
    const pending = this.#entries.get(id);
    for (const entry of pending?.values() ?? []) if (isFailure(entry)) pending?.delete(entry.key);
  }

  forgetRounds(id: string, rounds: ForgottenRounds): void {
    const pending = this.#entries.get(id);
    const ended = [...(pending?.values() ?? [])]
      .filter((entry) => goesWith(rounds, entry))
      .map(({ key }) => key);
    for (const key of ended) pending?.delete(key);
    // In the table, those may be open.
    const all = { ...rounds, open: [...new Set([...rounds.open, ...ended])] };
    this.#rounds.set(id, [...(this.#rounds.get(id) ?? []), all]);
  }

  outcome(id: string, outcome: Outcome): void {
    this.#outcomes.set(id, outcome);
  }

  remove(id: string): void {
    for (const pending of [this.#updates, this.#entries, this.#outcomes, this.#forgets, this.#rounds])
      pending.delete(id);
    this.#events = this.#events.filter(({ taskId }) => taskId !== id);
    this.#appended = this.#appended.filter((write) => write.id !== id);
    this.pieces.remove(id);
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

  retire(write: Retired): void {
    this.#retired.push(write);
  }

  drain(write: Drained): void {
    this.#drained.push(write);
  }

  get isEmpty(): boolean {
    const all = [
      this.#inserts,
      this.#updates,
      this.#removes,
      this.#events,
      this.#taken,
      this.#retired,
      this.#drained,
    ];
    const isDone = this.admin.isEmpty && this.outbox.isEmpty && this.secrets.isEmpty && this.bulk.isEmpty;
    return isDone && all.every((each) => ("size" in each ? each.size : each.length) === 0);
  }

  /** How many tasks it leaves that any owner may claim. */
  get claimable(): number {
    const tasks = [
      ...[...this.#updates.values()].map(({ after }) => after),
      ...[...this.#inserts.values()].map(({ task }) => task),
    ];
    return tasks.filter(({ state, lane, owner }) => state === "queued" && lane !== null && owner === null)
      .length;
  }

  /** Sends all writes. */
  send(
    sink: WriteSink,
    codec: Codec,
    sql: WriteStatements & AdminStatements & OutboxStatements,
    bulk: BulkStatements,
    owners: OwnerStatements,
  ): void {
    const send = (statement: string, ...values: SqlValue[]): void => sink.apart(statement, ...values);
    const sendRows = (statement: string, rows: Rows): void => {
      if (rows.length > 0) sink.together(statement, ...byColumn(rows));
    };
    const sendRowsApart = (statement: string, rows: Rows): void => {
      if (rows.length > 0) send(statement, ...byColumn(rows));
    };
    this.#sendRemoves(send, sql);
    const inserts = [...this.#inserts.values()];
    // Before new rows: one may have a key that another task gives up.
    this.#sendUpdates(inserts.length === 0 ? sendRows : sendRowsApart, sql, codec);
    sendRows(
      sql.insertTasks,
      inserts.map(({ task }) => rowOf(task, codec)),
    );
    sendRows(
      sql.insertRequests,
      inserts.map((insert) => requestTable.values(insert.task.id, insert.request, codec)),
    );
    sendRows(
      sql.insertChildren,
      inserts.flatMap(({ task: { id, parent } }) =>
        parent === null ? [] : [childTable.values(id, childOf(id, parent), inClear)],
      ),
    );
    this.pieces.send(send, sendRowsApart, sql, codec);
    if (this.#forgets.size > 0) send(sql.deleteFailures, [...this.#forgets].map(toStored));
    this.#sendRounds(send, sql);
    const entries = [...this.#entries].flatMap(([id, of]) =>
      [...of.values()].map((entry) => ({ id, entry })),
    );
    sendRows(
      sql.upsertJournal,
      entries.map(({ id, entry }) => journalTable.values(id, entry, codec)),
    );
    sendRows(
      sql.insertOutcomes,
      [...this.#outcomes].map(([id, ended]) => outcomeTable.values(id, storedOutcome(ended), codec)),
    );
    sendRows(
      sql.insertEvents,
      this.#events.map(({ taskId, name, value, taken, dedupeId }) =>
        eventTable.values(taskId, { name, value: taken ? null : value, dedupeId }, codec),
      ),
    );
    for (const each of [sql.forgetEvents, sql.deleteEvents])
      if (this.#taken.length > 0) send(each, this.#taken);
    this.#sendLines(sendRows, sendRowsApart, sql, codec);
    this.pieces.sendEnds(send, sql);
    this.admin.send(send, sql, codec);
    this.outbox.send(sink, sql);
    this.secrets.send(send, sql);
    this.bulk.send(send, codec, bulk);
    for (const { owner, until } of this.#drained) send(owners.drain, owner, until);
    for (const { owner, forgetAt } of this.#retired) {
      send(owners.deleteMessages, owner);
      send(owners.unmarkCommits, owner);
      send(owners.retire, owner);
      if (forgetAt !== null) send(owners.forget, owner, forgetAt);
    }
  }

  /** Of all tasks those columns in which any of them has changed: nobody else can have changed the others, since the rows are locked. */
  #sendRounds(send: (statement: string, ...values: SqlValue[]) => void, sql: WriteStatements): void {
    const rounds = [...this.#rounds].flatMap(([id, of]) => of.map((each) => ({ id, ...each })));
    if (rounds.length === 0) return;
    send(
      sql.deleteRounds,
      rounds.map(({ id }) => toStored(id)),
      rounds.map(({ under }) => toStored(under)),
    );
    const open = rounds.flatMap((of) => of.open.map((key) => ({ id: of.id, key })));
    if (open.length === 0) return;
    send(
      sql.deleteEntries,
      open.map(({ id }) => toStored(id)),
      open.map(({ key }) => toStored(key)),
    );
  }

  #sendUpdates(sendRows: SendRows, sql: WriteStatements, codec: Codec): void {
    const updates = [...this.#updates.values()];
    const changed = new Set(updates.flatMap(({ before, after }) => taskTable.changed(before, after)));
    if (changed.size === 0) return;
    // In the order of the table, so that there are few different statements.
    const columns = [...changed].sort((a, b) => a.place - b.place);
    sendRows(
      sql.updateTasks(columns.map(({ name }) => name)),
      updates.map(({ after }) => [
        toStored(after.id),
        ...taskTable.valuesIn(columns, after.id, after, codec),
      ]),
    );
  }

  #sendLines(sendRows: SendRows, sendRowsApart: SendRows, sql: WriteStatements, codec: Codec): void {
    const added = new Map<string, readonly Stored[]>();
    const forgotten = new Map<string, readonly Stored[]>();
    for (const { id, lines, forget } of this.#appended) {
      const taskId = toStored(id);
      for (const each of lines) {
        const name = `${each.list} ${each.seq} ${id}`;
        added.set(name, lineTable.values(id, each, codec));
        forgotten.delete(name);
      }
      for (const seq of forget) forgotten.set(`log ${seq} ${id}`, [taskId, seq]);
    }
    sendRows(sql.insertLines, [...added.values()]);
    sendRowsApart(sql.deleteLines, [...forgotten.values()]);
  }

  #sendRemoves(send: (statement: string, ids: readonly string[]) => void, sql: WriteStatements): void {
    if (this.#removes.size === 0) return;
    const ids = [...this.#removes].map(toStored);
    send(sql.deleteTasks, ids);
    for (const each of [sql.deleteRequests, sql.deleteJournals, sql.deleteOutcomes, sql.deleteChildren])
      send(each, ids);
    for (const each of [sql.deleteEventsOf, sql.deleteLinesOf, sql.deletePiecesOf, sql.deleteMessagesOf])
      send(each, ids);
  }
}

/** The writes of secrets. */
class SecretWrites {
  readonly #kept = new Map<string, string>();
  readonly #replaced = new Map<string, string | null>();

  keep(name: string, value: string): void {
    if (this.#replaced.get(name) === null) this.#replaced.set(name, value);
    else this.#kept.set(name, value);
  }

  replace(name: string, value: string | null): void {
    if (!this.#kept.has(name)) this.#replaced.set(name, value);
    else if (value === null) this.#kept.delete(name);
    else this.#kept.set(name, value);
  }

  get isEmpty(): boolean {
    return this.#kept.size === 0 && this.#replaced.size === 0;
  }

  send(send: (statement: string, ...values: SqlValue[]) => void, sql: WriteStatements): void {
    const replaced = [...this.#replaced].flatMap(([name, value]): [string, string][] =>
      value === null ? [] : [[name, value]],
    );
    const gone = [...this.#replaced].flatMap(([name, value]) => (value === null ? [toStored(name)] : []));
    if (replaced.length > 0) send(sql.updateSecrets, ...inOrder(replaced));
    if (gone.length > 0) send(sql.deleteSecrets, gone);
    if (this.#kept.size > 0) send(sql.insertSecrets, ...inOrder([...this.#kept]));
  }
}

function inOrder(secrets: readonly [string, string][]): ReturnType<typeof byColumn<Stored>> {
  const sorted = secrets.toSorted(([a], [b]) => compareNames(a, b));
  return byColumn(sorted.map(([name, value]) => secretTable.values("", { name, value }, inClear)));
}

import type { TaskRecord, TaskSnapshot } from "../../task/record.ts";
import { type Codec, columnsOf, integer, type Row, toStored } from "../row.ts";
import type { Statements } from "./statements.ts";
import type { Usage } from "../../task/queue.ts";
import * as sql from "./sql.ts";
import { isOutOfRange } from "./sqlite-error.ts";
import type { CommandAnswer, SentAnswer } from "./writer-connection.ts";

/** Of the tasks written last. A task that runs writes every few moments. */
const most = 2_000;

const dataVersion = "PRAGMA data_version";

/** Sets the entry as the newest, and removes the oldest where there are more than `limit` then. */
function keepNewest<T>(entries: Map<string, T>, id: string, value: T, limit: number): void {
  entries.delete(id);
  entries.set(id, value);
  if (entries.size <= limit) return;
  for (const oldest of entries.keys()) {
    entries.delete(oldest);
    return;
  }
}

/**
 * The records that a connection wrote last, so that a task is not read back before each of its writes. They are exactly what the database
 * contains: whatever else can change a row forgets them. Owners of a database in memory share them, but not with those who have other keys.
 */
export class KnownRecords {
  readonly #records = new Map<string, { readonly record: TaskRecord; readonly codec: Codec }>();
  readonly #statements: Statements;
  #version: unknown;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** Call it at the begin of each transaction: another connection may have written since the last one. */
  begin(): void {
    const [version] = this.#statements.get(dataVersion) ?? [];
    if (version !== this.#version) this.#records.clear();
    this.#version = version;
  }

  get(id: string, codec: Codec): TaskRecord | undefined {
    const known = this.#records.get(id);
    return known?.codec === codec ? known.record : undefined;
  }

  /** It was written. */
  keep(record: TaskRecord, codec: Codec): void {
    keepNewest(this.#records, record.id, { record, codec }, most);
  }

  forget(id: string): void {
    this.#records.delete(id);
  }

  /** Writes were undone. */
  forgetAll(): void {
    this.#records.clear();
  }
}

/** Longer outcomes are read again: what is kept stays small (characters of JSON). */
const mostKeptOutcome = 4_096;

/**
 * Tasks that are read again and again, as clients do that poll. They are exactly what the database contains: SQLite says whether another
 * connection has written since, and then all are forgotten. So the connection must not write itself. A task that is read once costs nothing,
 * and where much is written, SQLite is asked once for many reads.
 */
export class KnownSnapshots {
  readonly #statements: Statements;
  /** Undefined: it was read once. */
  readonly #snapshots = new Map<string, TaskSnapshot | undefined>();
  #version: unknown;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** Undefined for one that has to be read; then `keep` is told. */
  get(id: string): TaskSnapshot | undefined {
    if (!this.#snapshots.has(id)) return undefined;
    const [version] = this.#statements.get(dataVersion) ?? [];
    if (version !== this.#version) this.forgetAll();
    this.#version = version;
    return this.#snapshots.get(id);
  }

  /** It was read just now, after `get`. */
  keep(snapshot: TaskSnapshot): void {
    const { id } = snapshot.task;
    if (snapshot.inputs.length > 0 || (snapshot.outcome?.body.length ?? 0) > mostKeptOutcome) return;
    keepNewest(this.#snapshots, id, this.#snapshots.has(id) ? snapshot : undefined, most);
  }

  forgetAll(): void {
    this.#snapshots.clear();
  }
}

/**
 * The numbers of tasks that quotas limit: of each principal, and of all.
 * - Triggers keep them, in the transaction of each change, so a read is one row.
 * - A damaged number must not refuse every create. One that cannot be true is counted again when it is read; any other is checked when it
 *   refuses a create, once: from then on the triggers keep it right.
 */

const at = columnsOf(["unfinished", "retained"]);

/** How many checked numbers are remembered. */
const mostChecked = 10_000;

const none: Usage = { unfinished: 0, retained: 0 };

/** On the write connection. The caller has begun a transaction. */
export class SqliteUsage {
  readonly #sql: Statements;
  readonly #place: string;
  readonly #checked = new Set<string>();

  /** `place` names the database in warnings. */
  constructor(statements: Statements, place: string) {
    this.#sql = statements;
    this.#place = place;
  }

  /** Left out: the number of all tasks. */
  of(principal?: string): Usage {
    const row = this.#sql.get(sql.selectUsage, keyOf(principal));
    return (row && plausible(row)) ?? this.#recounted(principal, row);
  }

  /** Whether one of the numbers was wrong that limit a principal's creates. */
  correct(principal: string | null): boolean {
    const all = this.#correct();
    return (principal !== null && this.#correct(principal)) || all;
  }

  /** Calls `insert`, which raises the principal's numbers, again if one of them was too large to be raised. */
  raising(principal: string | null, insert: () => void): void {
    try {
      insert();
    } catch (error) {
      if (!isOutOfRange(error) || !this.correct(principal)) throw error;
      insert();
    }
  }

  /** A transaction was undone, and corrections with it. */
  forget(): void {
    this.#checked.clear();
  }

  #correct(principal?: string): boolean {
    const key = keyOf(principal);
    if (this.#checked.has(key)) return false;
    if (this.#checked.size === mostChecked) this.#checked.clear();
    this.#checked.add(key);
    const row = this.#sql.get(sql.selectUsage, key);
    const known = row && plausible(row);
    const counted = this.#recounted(principal, row);
    return known?.unfinished !== counted.unfinished || known.retained !== counted.retained;
  }

  #recounted(principal: string | undefined, stored: Row | undefined): Usage {
    const row =
      principal === undefined
        ? this.#sql.get(sql.countTasks)
        : this.#sql.get(sql.countTasksOf, toStored(principal));
    const counted = (row && plausible(row)) ?? none;
    const before = stored === undefined ? none : plausible(stored);
    if (before?.unfinished === counted.unfinished && before.retained === counted.retained) return counted;
    this.#sql.run(sql.replaceUsage, keyOf(principal), counted.unfinished, counted.retained);
    process.emitWarning(
      `A counter of tasks in ${this.#place} was damaged. The tasks were counted again.`,
      "HoldfastWarning",
    );
    return counted;
  }
}

function keyOf(principal: string | undefined): string {
  return principal === undefined ? "t" : `p${toStored(principal)}`;
}

/** Undefined for numbers that cannot be true. */
function plausible(row: Row): Usage | undefined {
  try {
    const usage = { unfinished: integer(row, at.unfinished), retained: integer(row, at.retained) };
    return usage.unfinished >= 0 && usage.unfinished <= usage.retained ? usage : undefined;
  } catch {
    return undefined;
  }
}

/** The most tasks that each end remembers: those that were written last. */
const mostSent = 1_000;

/**
 * What the writer's thread sends of the tasks in its answers. A task that runs is written again and again, of its record little changes, and
 * to copy a whole one from thread to thread takes as long as to write it.
 * - Each end remembers the record that it sent or got last of each task. Both see the same answers in the same order, and forget by the same
 *   rule, so they always remember the same: what has changed is enough.
 * - Finished tasks are forgotten: most of them are never written again.
 */
export class SentRecords {
  readonly #last = new Map<string, TaskRecord>();
  readonly #most: number;

  constructor(remembered = mostSent) {
    this.#most = remembered;
  }

  /** At the end that sends. */
  pack(answer: CommandAnswer): SentAnswer {
    if (!("result" in answer) || !("task" in answer.result)) return answer;
    const { task, ...result } = answer.result;
    const changed = changesOf(this.#last.get(task.id), task);
    this.#remember(task);
    return changed === undefined ? { result, task } : { result, taskId: task.id, changed };
  }

  /** At the end that gets what `pack` returned. */
  unpack(sent: SentAnswer): CommandAnswer {
    if ("task" in sent) return this.#whole(sent.result, sent.task);
    if (!("changed" in sent)) return sent;
    const last = this.#last.get(sent.taskId);
    if (last === undefined) throw new Error(`Nothing was sent of the task ${sent.taskId} before.`);
    return this.#whole(sent.result, { ...last, ...sent.changed });
  }

  #whole(result: object, task: TaskRecord): CommandAnswer {
    this.#remember(task);
    return { result: { ...result, ok: true, task } };
  }

  #remember(task: TaskRecord): void {
    if (task.finishedAt === null) keepNewest(this.#last, task.id, task, this.#most);
    else this.#last.delete(task.id);
  }
}

/** Undefined if they do not say all: a member of the last record is gone, or there is none. */
function changesOf(last: TaskRecord | undefined, task: TaskRecord): Partial<TaskRecord> | undefined {
  if (last === undefined) return undefined;
  for (const name in last) if (!(name in task)) return undefined;
  const changed: Record<string, unknown> = {};
  for (const name in task) {
    const value: unknown = task[name as keyof TaskRecord];
    if (last[name as keyof TaskRecord] !== value) changed[name] = value;
  }
  return changed;
}

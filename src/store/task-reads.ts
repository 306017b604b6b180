import type { JournalEnd, JournalEntry } from "../task/journal.ts";
import { compareNames, type HandlerName } from "../task/queue.ts";
import { listedGenerations, type TaskRecord } from "../task/record.ts";
import type { LineList, TaskLine } from "../task/task-line.ts";
import { storable } from "../task/time.ts";
import {
  behindAllTexts,
  endOf,
  formsOf,
  pageOf,
  type Query,
  type Read,
  type Reading,
  rowOf,
  rowsOf,
  type Tables,
} from "./dialect.ts";
import {
  type Codec,
  columnsOf,
  idOf,
  inClear,
  storedOrNull,
  storedStarts,
  text,
  toStored,
  unlessUndecrypted,
} from "./row.ts";
import { ownersPage, type PieceOwner } from "./left-pieces.ts";
import { personKeys, rangeOf, type ReadSecrets, secretsIn } from "./secrets.ts";
import type { SessionStore } from "./session-store.ts";
import type { JournalPage, KeyedTask, QueuedPage, TaskFilter, WireName } from "./store.ts";
import {
  journalEnd,
  journalEntry,
  journalHead,
  lineTable,
  listedEntryIn,
  outcomeBody,
  pieceBody,
  requestIdText,
} from "./tables/of-task.ts";
import type { Dialect } from "./tables/table.ts";
import { sessionTable } from "./tables/tables.ts";
import {
  assertProven,
  finished,
  isBlocked,
  isListed,
  listedRecord,
  recordIn,
  recordList,
  unfinished,
} from "./tables/task.ts";

/** What is read of tasks, sessions and secrets, except for commands. Conditions repeat those of the partial indexes. */
export function taskSql(names: Tables, dialect: Dialect) {
  const { task, request, journal, outcome, line, piece, session, secret } = names;
  const { either, by, atMost, among, each } = formsOf(dialect);
  const record = recordList();
  /** Leaves out what is over before the limit counts. The last three parameters are the end of the page, the time and the limit. */
  const newest = (index: string, of: string, searched: number): string => `
      SELECT ${record} FROM ${task}${by(index)}
      WHERE ${of} AND id < $${searched + 1} AND NOT (${finished} AND sweep_at IS NOT NULL AND sweep_at <= $${searched + 2})
      ORDER BY id DESC ${atMost(searched + 3)}`;
  /** The last part for Postgres distinguishes no name from an empty one. With another form, it would expect so few rows that it sorts all of them. */
  const ofPrincipal = (parameter: string): string =>
    either(
      `principal IS ${parameter}`,
      `coalesce(principal, '') = coalesce(${parameter}::text, '') AND (principal IS NULL) = (${parameter}::text IS NULL)`,
    );
  const ofScope = "scope <> '' AND generation = $1 AND scope = $2";
  const queued = (index: string, of: string): string => `SELECT id FROM ${task}${by(index)}
      WHERE ${of} AND method = $1 AND tool = $2 AND id > $3 ORDER BY id ${atMost(4)}`;
  return {
    anyTask: `SELECT id FROM ${task} WHERE id > '' ORDER BY id LIMIT 1`,
    secrets: `SELECT name, value FROM ${secret} WHERE name < '${personKeys}'`,
    secretsIn: `SELECT name, value FROM ${secret} WHERE name >= $1 AND name < $2`,
    task: `SELECT ${record} FROM ${task} WHERE id = $1`,
    /** A wire id that equals the id is not stored twice. */
    idByWireId: `SELECT id FROM ${task}${by("task_wire_id")} WHERE wire_id IS NOT NULL AND generation = $1 AND scope = $2 AND wire_id = $3
      UNION ALL SELECT id FROM ${task} WHERE id = $3 AND wire_id IS NULL AND generation = $1 AND scope = $2 LIMIT 1`,
    /** From the second value on, below the third. */
    keyed: `SELECT id, idempotency_key FROM ${task}${by("task_idempotency")}
      WHERE coalesce(principal, '') = $1 AND idempotency_key IS NOT NULL AND idempotency_key >= $2 AND idempotency_key < $3
      ORDER BY idempotency_key ${atMost(4)}`,
    /**
     * By key: an index by `place` would cost each journal write more than a sort costs its reader. `octet_length` reads no text.
     */
    journal: `SELECT ${journalHead.list()},
        coalesce(octet_length(request), 0) + coalesce(octet_length(value), 0) + coalesce(octet_length(error), 0) AS bytes
      FROM ${journal} WHERE task_id = $1 AND key >= $2 ORDER BY key ${atMost(3)}`,
    outcome: `SELECT ${outcomeBody.list()} FROM ${outcome} WHERE task_id = $1`,
    journalEntry: `SELECT ${journalEntry.list()} FROM ${journal} WHERE task_id = $1 AND key = $2`,
    journalEnds: `SELECT ${journalEnd.list()} FROM ${journal} WHERE task_id = $1 AND key ${among(2)}`,
    lines: `SELECT ${lineTable.list()} FROM ${line} WHERE task_id = $1 AND list = $2 AND seq > $3 ORDER BY seq ${atMost(4)}`,
    piece: `SELECT ${pieceBody.list()} FROM ${piece} WHERE task_id = $1 AND key = $2 AND seq = $3`,
    /** The tasks behind one that have pieces, and whether they exist. */
    pieceOwners: `SELECT task_id, CASE WHEN EXISTS (SELECT 1 FROM ${task} WHERE id = task_id) THEN 1 ELSE 0 END
      FROM (${each("task_id", piece, "true", "task_id > $1")}) AS owners ${atMost(2)}`,
    owned: newest("task_owner", `generation = $1 AND ${ofPrincipal("$2")}`, 2),
    ofScope: newest("task_scope", ofScope, 2),
    ownedOfScope: newest("task_scope", `${ofScope} AND ${ofPrincipal("$3")}`, 3),
    ofGeneration: newest("task_generation", `generation = $1${either("", ` AND ${isListed}`)}`, 1),
    /** Among all tasks: no client asks for these. */
    ofUnlisted: newest("task_generation", `generation = $1${either("", ` AND NOT ${isListed}`)}`, 1),
    unfinished: `SELECT ${record} FROM ${task}${by("task_unfinished")} WHERE ${unfinished} AND id > $1 ORDER BY id ${atMost(2)}`,
    due: `SELECT id FROM ${task}${by("task_due")} WHERE ${unfinished} AND sweep_at IS NOT NULL AND sweep_at <= $1
      ORDER BY sweep_at${either(", id", "")} ${atMost(2)}`,
    /** The queued tasks of a handler that are not blocked. Only needed for a tool that nobody has. */
    queued: queued(
      "task_unfinished",
      `${either(`${unfinished} AND `, "")}state = 'queued' AND blocked IS NULL`,
    ),
    blocked: queued("task_blocked", isBlocked),
    session: `SELECT ${sessionTable.list()} FROM ${session} WHERE id = $1`,
    tasksOfRequest: `SELECT task_id FROM ${request}${by("request_session")}
      WHERE session IS NOT NULL AND session = $1 AND request_id = $2 ORDER BY task_id DESC ${atMost(3)}`,
    tasksOfSession: `SELECT request.task_id FROM ${request}${by("request_session")} JOIN ${task} ON task.id = request.task_id
      WHERE request.session IS NOT NULL AND request.session = $1 AND task.${unfinished} ${atMost(2)}`,
  };
}

export type TaskSql = ReturnType<typeof taskSql>;

const keyedAt = columnsOf(["id", "idempotency_key"]);

/** A time to compare with a column of the database. */
export function whole(time: number): number {
  return Math.floor(storable(time));
}

/** Of an encrypted store, throws unless it is known whose the task is. */
function* assertWhose(sql: TaskSql, codec: Codec, id: string): Reading<void> {
  if (codec === inClear) return;
  const task = yield* rowOf(sql.task, [toStored(id)], (row) => recordIn(row, codec));
  if (task !== undefined) assertProven(task);
}

export function entryOf(
  sql: TaskSql,
  codec: Codec,
  id: string,
  key: string,
): Reading<JournalEntry | undefined> {
  return rowOf(sql.journalEntry, [toStored(id), toStored(key)], (row) => journalEntry.read(id, row, codec));
}

export function* linesOf(
  sql: TaskSql,
  codec: Codec,
  id: string,
  ...[list, after, limit]: readonly [list: LineList, after: number, limit: number]
): Reading<TaskLine[]> {
  yield* assertWhose(sql, codec, id);
  return yield* rowsOf(sql.lines, [toStored(id), list, after, limit], (row) =>
    lineTable.read(id, row, codec),
  );
}

function* pieceOf(
  sql: TaskSql,
  codec: Codec,
  id: string,
  key: string,
  seq: number,
): Reading<string | undefined> {
  yield* assertWhose(sql, codec, id);
  const values = [toStored(id), toStored(key), seq];
  return yield* rowOf(sql.piece, values, (row) => pieceBody.read(id, row, codec).body);
}

function* keyedTasks(
  sql: TaskSql,
  principal: string | null,
  prefix: string,
  limit: number,
): Reading<KeyedTask[]> {
  const keyed: KeyedTask[] = [];
  for (const start of storedStarts(prefix)) {
    const values = [toStored(principal ?? ""), start, start + behindAllTexts, limit];
    const found = yield* rowsOf(sql.keyed, values, (row) => ({
      id: idOf(row),
      key: text(row, keyedAt.idempotency_key),
    }));
    keyed.push(...found);
  }
  return keyed.sort((a, b) => compareNames(a.key, b.key)).slice(0, limit);
}

export function unfinishedIn(
  { unfinished: sql }: TaskSql,
  codec: Codec,
  after: string,
  limit: number,
): Reading<TaskRecord[]> {
  return pageOf(
    limit,
    toStored(after),
    (...values) => ({ sql, values }),
    (row) => listedRecord(row, codec),
  );
}

export function* secretsOf(sql: TaskSql, name?: string): Reading<ReadonlyMap<string, string>> {
  return secretsIn(
    name === undefined
      ? yield { sql: sql.secrets, values: [] }
      : yield { sql: sql.secretsIn, values: rangeOf(name) },
  );
}

/** What is read alike of a store in whatever database. */
export abstract class TaskReads {
  protected readonly sql: TaskSql;
  protected abstract readonly read: Read;

  constructor(sql: TaskSql) {
    this.sql = sql;
  }

  async journal(id: string, from: string, limit: number): Promise<JournalPage> {
    const values = [toStored(id), toStored(from), limit + 1];
    const entries = await this.read(
      (codec) => rowsOf(this.sql.journal, values, (row) => listedEntryIn(id, row, codec)),
      id,
    );
    return { entries: entries.slice(0, limit), next: entries[limit]?.key ?? null };
  }

  async journalEnds(id: string, keys: readonly string[]): Promise<readonly JournalEnd[]> {
    if (keys.length === 0) return [];
    const values = [toStored(id), keys.map(toStored)];
    return this.read(
      (codec) => rowsOf(this.sql.journalEnds, values, (row) => journalEnd.read(id, row, codec)),
      id,
    );
  }

  journalEntry(id: string, key: string): Promise<JournalEntry | undefined> {
    return this.read((codec) => entryOf(this.sql, codec, id, key), id);
  }

  lines(id: string, ...page: readonly [list: LineList, after: number, limit: number]): Promise<TaskLine[]> {
    return this.read((codec) => linesOf(this.sql, codec, id, ...page), id);
  }

  piece(id: string, key: string, seq: number): Promise<string | undefined> {
    return this.read((codec) => pieceOf(this.sql, codec, id, key, seq), id);
  }

  find({ generation, scope, wireId }: WireName): Promise<string | undefined> {
    const values = [generation, toStored(scope), toStored(wireId)];
    return this.read(() => rowOf(this.sql.idByWireId, values, idOf));
  }

  withKeys(principal: string | null, prefix: string, limit: number): Promise<readonly KeyedTask[]> {
    return this.read(() => keyedTasks(this.sql, principal, prefix, limit));
  }

  list(
    filter: TaskFilter,
    before: string | null,
    limit: number,
    now: number,
  ): Promise<readonly TaskRecord[]> {
    const { sql, values } = listOf(this.sql, filter);
    return this.read((codec) =>
      pageOf(
        limit,
        endOf(before),
        (end, count) => ({ sql, values: [...values, end, whole(now), count] }),
        (row) => listedRecord(row, codec),
      ),
    );
  }

  unfinished(after: string, limit: number): Promise<readonly TaskRecord[]> {
    return this.read((codec) => unfinishedIn(this.sql, codec, after, limit));
  }

  queued({ method, tool }: HandlerName, { after, limit, blocked }: QueuedPage): Promise<readonly string[]> {
    const sql = blocked ? this.sql.blocked : this.sql.queued;
    return this.read(() => rowsOf(sql, [method, toStored(tool), toStored(after), limit], idOf));
  }

  due(now: number, limit: number): Promise<readonly string[]> {
    return this.read(() => rowsOf(this.sql.due, [whole(now), limit], idOf));
  }

  pieceOwners(after: string): Promise<readonly PieceOwner[]> {
    return this.read(() =>
      rowsOf(this.sql.pieceOwners, [toStored(after), ownersPage], (row) => ({
        id: idOf(row),
        exists: Number(row[1]) === 1,
      })),
    );
  }

  readonly secrets: ReadSecrets = (name) => this.read(() => secretsOf(this.sql, name));
}

function listOf(sql: TaskSql, { generation, principal, scope }: TaskFilter): Query {
  if (scope === undefined) {
    const ofAll = listedGenerations.includes(generation) ? sql.ofGeneration : sql.ofUnlisted;
    if (principal === undefined) return { sql: ofAll, values: [generation] };
    return { sql: sql.owned, values: [generation, storedOrNull(principal)] };
  }
  const values = [generation, toStored(scope)];
  if (principal === undefined) return { sql: sql.ofScope, values };
  return { sql: sql.ownedOfScope, values: [...values, storedOrNull(principal)] };
}

export function sessionReads(sql: TaskSql, read: Read): Pick<SessionStore, "get" | "tasksOf"> {
  return {
    get: (id) =>
      read((codec) =>
        rowOf(sql.session, [toStored(id)], (row) =>
          unlessUndecrypted(() => sessionTable.read(id, row, codec)),
        ),
      ),
    tasksOf: (id, limit, requestId) =>
      read(() =>
        requestId === undefined
          ? rowsOf(sql.tasksOfSession, [toStored(id), limit], idOf)
          : rowsOf(sql.tasksOfRequest, [toStored(id), requestIdText(requestId), limit], idOf),
      ),
  };
}

import {
  failedTask,
  type FailedTask,
  finished,
  isAsking,
  isFailed,
  isReady,
  isWaiting,
  recordList,
  taskTable,
} from "../tables/task.ts";
import type { Names } from "./names.ts";
import { actionTable, causeMarkTable, pausedToolTable } from "../tables/tables.ts";
import {
  type AdminStore,
  type AlikeTasks,
  type FailureCauses,
  type PausedTool,
  type QueueLength,
  type ReplicaReads,
  summedByTool,
  type TaskRange,
} from "../admin-store.ts";
import {
  columnsOf,
  inClear,
  integer,
  integerOrNull,
  oneOf,
  type Row,
  storedOrNull,
  text,
  textOrStored,
  toStored,
} from "../row.ts";
import type { Database, SqlValue } from "./database.ts";

import type { StoredAction, TaskRecord } from "../../task/record.ts";
import { PostgresBulk } from "./postgres-bulk.ts";
import { reportsBetween } from "./postgres-reports.ts";
import { behindAllTexts, readableTasks, recordOf } from "./read-task.ts";
import type { Replica } from "./replica.ts";

/**
 * The handlers of queued tasks, found step by step: `ready` has those of claimable tasks, for each owner, and `waiting` those of the
 * others.
 */
export function withQueuedHandlers({ task }: Names): string {
  return `WITH RECURSIVE ready AS (
        (SELECT owner, method, tool FROM ${task} WHERE ${isReady} ORDER BY owner, method, tool LIMIT 1)
        UNION ALL
        SELECT next.* FROM ready CROSS JOIN LATERAL (
          SELECT owner, method, tool FROM ${task}
          WHERE ${isReady} AND (owner, method, tool) > (ready.owner, ready.method, ready.tool)
          ORDER BY owner, method, tool LIMIT 1) AS next
      ), waiting AS (
        (SELECT method, tool FROM ${task} WHERE ${isWaiting} ORDER BY method, tool LIMIT 1)
        UNION ALL
        SELECT next.* FROM waiting CROSS JOIN LATERAL (
          SELECT method, tool FROM ${task} WHERE ${isWaiting} AND (method, tool) > (waiting.method, waiting.tool)
          ORDER BY method, tool LIMIT 1) AS next
      )`;
}

const recordColumns = recordList();

/**
 * The first unfinished tasks in the order of their ids: of the queued ones, and of the running ones of each owner, found step by step. Of an
 * array, Postgres expects few owners: of many, it would compile the statement.
 */
export function unfinishedTasks(
  { task }: Names,
  where: string,
  order: "id" | "id DESC",
  limit: string,
): string {
  const first = (of: string): string =>
    `(SELECT * FROM ${task} WHERE ${of} AND ${where} ORDER BY ${order} LIMIT ${limit})`;
  return `WITH RECURSIVE holder AS (
      (SELECT owner FROM ${task} WHERE state = 'running' ORDER BY owner LIMIT 1)
      UNION ALL
      SELECT next.owner FROM holder CROSS JOIN LATERAL (
        SELECT owner FROM ${task} WHERE state = 'running' AND task.owner > holder.owner ORDER BY owner LIMIT 1) AS next)
    SELECT ${recordColumns} FROM (${first("state = 'queued'")}
      UNION ALL
      SELECT held.* FROM unnest(ARRAY(SELECT owner FROM holder)) AS holder (owner)
      CROSS JOIN LATERAL ${first("state = 'running' AND task.owner = holder.owner")} AS held) AS task
    ORDER BY task.${order} LIMIT ${limit}`;
}

/** In what tasks are alike that stand alike, besides questions and blocks. */
const alikeTasks = taskTable.pick("tool", "state", "lane", "waiting", "waitsFor", "outcomeKind");

/** The reads and writes of operators. Conditions repeat those of the partial indexes. */
export function adminStatements(names: Names) {
  const { task, child, journal, action, pausedTool, causeMark } = names;
  /** Tasks of a range below an id, newest first. Search parameters come first. */
  const tasks = (of: string, searched = 0): string => `SELECT ${recordColumns} FROM ${task}
    WHERE ${of} AND id < $${searched + 1} ORDER BY id DESC LIMIT $${searched + 2}`;
  /** Their number, up to a maximum. */
  const counted = (of: string, searched = 0): string =>
    `SELECT count(*)::int FROM (SELECT 1 FROM ${task} WHERE ${of} LIMIT $${searched + 1}) AS counted`;
  const ended = `${finished} AND tool = $1 AND coalesce(outcome_kind, state) = $2`;
  /** The last part distinguishes no name from an empty one. */
  const principal =
    "generation = $1 AND coalesce(principal, '') = coalesce($2::text, '') AND (principal IS NULL) = ($2::text IS NULL)";
  const ofCause = `${isFailed} AND cause = $1`;
  const stored = actionTable.list();
  const pages = `(pg_relation_size('${task}'::regclass) / current_setting('block_size')::int)`;
  return {
    all: tasks("true"),
    open: unfinishedTasks(names, "id < $1", "id DESC", "$2"),
    asking: tasks(isAsking),
    ended: tasks(ended, 2),
    principal: tasks(principal, 2),
    cause: tasks(ofCause, 1),
    children: `SELECT ${recordColumns} FROM ${child} JOIN ${task} ON task.id = child.id
      WHERE child.parent = $1 AND child.id < $2 ORDER BY child.id DESC LIMIT $3`,
    countAll: counted("true ORDER BY id"),
    countOpen: `SELECT count(*)::int FROM (
        (SELECT 1 FROM ${task} WHERE state = 'queued' ORDER BY id LIMIT $1)
        UNION ALL (SELECT 1 FROM ${task} WHERE state = 'running' ORDER BY owner, id LIMIT $1)
        LIMIT $1) AS counted`,
    countAsking: counted(isAsking),
    countEnded: counted(ended, 2),
    countPrincipal: counted(principal, 2),
    countCause: counted(ofCause, 1),
    countChildren: `SELECT count(*)::int FROM (SELECT 1 FROM ${child} WHERE parent = $1 LIMIT $2) AS counted`,
    /** Step by step: each step seeks the next name. */
    endedTools: `WITH RECURSIVE named AS (
      (SELECT tool FROM ${task} WHERE ${finished} ORDER BY tool LIMIT 1)
      UNION ALL
      SELECT next.tool FROM named CROSS JOIN LATERAL (
        SELECT tool FROM ${task} WHERE ${finished} AND tool > named.tool ORDER BY tool LIMIT 1) AS next
    ) SELECT tool FROM named`,
    /** The queue of each handler and of each owner it is queued for, up to a number. */
    queues: `${withQueuedHandlers(names)}
      SELECT ready.tool, 'ready', counted.tasks, counted.since FROM ready CROSS JOIN LATERAL (
        SELECT count(*)::int AS tasks, min(run_after) AS since FROM (
          SELECT run_after FROM ${task}
          WHERE ${isReady} AND owner = ready.owner AND method = ready.method AND tool = ready.tool LIMIT $1) AS seen) AS counted
      UNION ALL
      SELECT waiting.tool, 'parked', counted.tasks, NULL FROM waiting CROSS JOIN LATERAL (
        SELECT count(*)::int AS tasks FROM (
          SELECT 1 FROM ${task}
          WHERE ${isWaiting} AND method = waiting.method AND tool = waiting.tool LIMIT $1) AS seen) AS counted`,
    /** Of about so many pages of the table: the same ones each time, so that numbers do not jump. */
    estimate: `SELECT ${alikeTasks.list()}, CASE WHEN open_inputs > 0 THEN 1 ELSE 0 END,
        CASE WHEN blocked IS NULL THEN 0 ELSE 1 END, round(count(*) * greatest(1, ${pages} / $1::float8))::bigint
      FROM ${task} TABLESAMPLE SYSTEM (least(100, 100 * $1::float8 / greatest(1, ${pages}))) REPEATABLE (0)
      GROUP BY 1, 2, 3, 4, 5, 6, 7, 8`,
    failed: `SELECT ${failedTask.list()} FROM ${task} WHERE ${isFailed} AND id < $1 ORDER BY id DESC LIMIT $2`,
    failedOfCause: `SELECT ${failedTask.list()} FROM ${task} WHERE ${ofCause} AND id < $2 ORDER BY id DESC LIMIT $3`,
    firstOfCause: `SELECT ${failedTask.list()} FROM ${task} WHERE ${ofCause} AND id > $2 ORDER BY id LIMIT $3`,
    nextCause: `SELECT cause FROM ${task} WHERE ${isFailed} AND cause > $1 ORDER BY cause, id LIMIT 1`,
    causeMarks: `SELECT ${causeMarkTable.list()} FROM ${causeMark} ORDER BY cause`,
    failedKeys: `SELECT key FROM ${journal} WHERE task_id = $1 AND error IS NOT NULL LIMIT $2`,
    actions: `SELECT ${stored} FROM ${action} WHERE seq < $1 ORDER BY seq DESC LIMIT $2`,
    actionsOf: `SELECT ${stored} FROM ${action} WHERE task_id = $1 AND task_id IS NOT NULL AND seq < $2
      ORDER BY seq DESC LIMIT $3`,
    paused: `SELECT ${pausedToolTable.list()} FROM ${pausedTool} ORDER BY tool`,
  };
}

export type AdminStatements = ReturnType<typeof adminStatements>;

const toolAt = columnsOf(["tool"]);
const keyAt = columnsOf(["key"]);
const causeAt = columnsOf(["cause"]);

const lengthAt = columnsOf(["tool", "state", "tasks", "since"]);
const states = { ready: true, parked: true } as const;

function lengthOf(row: Row): QueueLength {
  return {
    tool: textOrStored(row, lengthAt.tool),
    state: oneOf(row, lengthAt.state, states),
    tasks: integer(row, lengthAt.tasks),
    since: integerOrNull(row, lengthAt.since),
  };
}

/** How many pages of the table an estimate looks at. */
const sampledPages = 500;

/** The columns after those of `alikeTasks`. */
const groupAt = columnsOf(["openInputs", "isBlocked", "tasks"]);

/** Tasks of another version, which cannot be read, are left out. */
function alikeIn(row: Row): readonly AlikeTasks[] {
  const group = row.slice(alikeTasks.names.length);
  try {
    return [
      {
        ...alikeTasks.decode(row),
        openInputs: integer(group, groupAt.openInputs),
        ...(integer(group, groupAt.isBlocked) === 1 && { blocked: {} }),
        tasks: integer(group, groupAt.tasks),
      },
    ];
  } catch {
    return [];
  }
}

/** For a range: the statement for its tasks, the one that counts them, and the search parameters of both. */
interface RangeQuery {
  readonly tasks: string;
  readonly count: string;
  readonly values: readonly SqlValue[];
}

interface AdminParts {
  readonly database: Pick<Database, "read" | "codecs">;
  readonly replica?: Pick<Replica, "read" | "codecs" | "behindMs"> | undefined;
}

function causesIn(sql: AdminStatements, open: () => AdminParts): FailureCauses {
  const read = (
    statement: string,
    searched: readonly SqlValue[],
    from: string,
    limit: number,
  ): Promise<FailedTask[]> =>
    readableTasks(
      limit,
      (last, count) =>
        open().database.read(statement, [...searched, last === undefined ? from : String(last[0]), count]),
      (row) => failedTask.decode(row),
    );
  return {
    async failed(before, limit, cause) {
      const end = before === null ? behindAllTexts : toStored(before);
      if (cause === undefined) return read(sql.failed, [], end, limit);
      return read(sql.failedOfCause, [toStored(cause)], end, limit);
    },
    first: async (cause) => (await read(sql.firstOfCause, [toStored(cause)], "", 1))[0],
    async names(limit) {
      const names: string[] = [];
      // One seek for each: what seeks them all in one statement is planned to read every failed task.
      for (let last = ""; names.length < limit;) {
        const [row] = await open().database.read(sql.nextCause, [last]);
        if (row === undefined) break;
        last = String(row[0]);
        names.push(textOrStored(row, causeAt.cause));
      }
      return names;
    },
    async marks() {
      const { database } = open();
      const rows = await database.read(sql.causeMarks);
      return rows.map((row) => causeMarkTable.read(String(row[0]), row, database.codecs.reading));
    },
  };
}

/** The reads of operators. */
export class PostgresAdmin implements AdminStore {
  readonly bulk: PostgresBulk;
  readonly causes: FailureCauses;
  readonly #names: Names;
  readonly #sql: AdminStatements;
  readonly #open: () => AdminParts;

  constructor(names: Names, open: () => AdminParts) {
    this.bulk = new PostgresBulk(names, open);
    this.#names = names;
    this.#sql = adminStatements(names);
    this.#open = open;
    this.causes = causesIn(this.#sql, open);
  }

  async replica(): Promise<ReplicaReads | undefined> {
    const { replica: database } = this.#open();
    const behindMs = await database?.behindMs();
    if (database === undefined || behindMs === undefined) return undefined;
    const copy = new PostgresAdmin(this.#names, () => ({ database }));
    return {
      tasks: (...page) => copy.tasks(...page),
      count: (...range) => copy.count(...range),
      endedTools: () => copy.endedTools(),
      estimate: () => copy.estimate(),
      between: (...range) => reportsBetween(database, this.#names, ...range),
      behindMs,
    };
  }

  async tasks(range: TaskRange, before: string | null, limit: number): Promise<readonly TaskRecord[]> {
    const { tasks, values } = this.#query(range);
    const { database } = this.#open();
    const end = before === null ? behindAllTexts : toStored(before);
    return readableTasks(
      limit,
      (last, count) => database.read(tasks, [...values, last === undefined ? end : String(last[0]), count]),
      (row) => recordOf(row, database.codecs.reading),
    );
  }

  async count(range: TaskRange, most: number): Promise<number> {
    const { count, values } = this.#query(range);
    const [row] = await this.#open().database.read(count, [...values, most]);
    return Number(row?.[0] ?? 0);
  }

  async estimate(): Promise<readonly AlikeTasks[]> {
    const rows = await this.#open().database.read(this.#sql.estimate, [sampledPages]);
    return rows.flatMap(alikeIn);
  }

  async endedTools(): Promise<readonly string[]> {
    const rows = await this.#open().database.read(this.#sql.endedTools);
    return rows.map((row) => textOrStored(row, toolAt.tool));
  }

  async queues(most: number): Promise<readonly QueueLength[]> {
    const rows = await this.#open().database.read(this.#sql.queues, [most]);
    return summedByTool(rows.map(lengthOf));
  }

  async actions(
    taskId: string | null,
    before: number | null,
    limit: number,
  ): Promise<readonly StoredAction[]> {
    const { database } = this.#open();
    const last = before ?? Number.MAX_SAFE_INTEGER;
    const rows =
      taskId === null
        ? await database.read(this.#sql.actions, [last, limit])
        : await database.read(this.#sql.actionsOf, [toStored(taskId), last, limit]);
    return rows.map((row) => actionTable.read("", row, inClear));
  }

  async failedKeys(taskId: string, limit: number): Promise<readonly string[]> {
    const rows = await this.#open().database.read(this.#sql.failedKeys, [toStored(taskId), limit]);
    return rows.map((row) => text(row, keyAt.key));
  }

  async paused(): Promise<readonly PausedTool[]> {
    return (await this.#open().database.read(this.#sql.paused)).map((row) =>
      pausedToolTable.read("", row, inClear),
    );
  }

  #query(range: TaskRange): RangeQuery {
    const sql = this.#sql;
    switch (range.of) {
      case "all":
        return { tasks: sql.all, count: sql.countAll, values: [] };
      case "open":
        return { tasks: sql.open, count: sql.countOpen, values: [] };
      case "asking":
        return { tasks: sql.asking, count: sql.countAsking, values: [] };
      case "ended":
        return { tasks: sql.ended, count: sql.countEnded, values: [toStored(range.tool), range.as] };
      case "cause":
        return { tasks: sql.cause, count: sql.countCause, values: [toStored(range.cause)] };
      case "principal": {
        const values = [range.generation, storedOrNull(range.principal)];
        return { tasks: sql.principal, count: sql.countPrincipal, values };
      }
      case "children":
        return { tasks: sql.children, count: sql.countChildren, values: [toStored(range.parent)] };
    }
  }
}

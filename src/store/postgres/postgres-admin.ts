import { isReady, isWaiting, recordList, taskTable } from "../tables/task.ts";
import type { Names } from "./names.ts";
import { adminReads, adminSql, bulkSql, reportsBetween, reportSql } from "../admin-reads.ts";
import {
  type AdminStore,
  type AlikeTasks,
  type NodeReports,
  type QueueLength,
  summedByTool,
} from "../admin-store.ts";
import { type Read, rowsOf } from "../dialect.ts";
import { columnsOf, idOf, integer, integerOrNull, oneOf, type Row, textOrStored, toStored } from "../row.ts";
import { outboxSql } from "../outbox-reads.ts";
import { reportTable } from "../tables/tables.ts";
import { type Owners, seemsToLive } from "./ownership.ts";
import type { Database } from "./database.ts";
import { readsOf } from "./read-task.ts";
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
  const { task } = names;
  const pages = `(pg_relation_size('${task}'::regclass) / current_setting('block_size')::int)`;
  return {
    ...adminSql(names, "postgres"),
    open: unfinishedTasks(names, "id < $1", "id DESC", "$2"),
    countOpen: `SELECT count(*) FROM (
        (SELECT 1 FROM ${task} WHERE state = 'queued' ORDER BY id LIMIT $1)
        UNION ALL (SELECT 1 FROM ${task} WHERE state = 'running' ORDER BY owner, id LIMIT $1)
        LIMIT $1) AS counted`,
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
  };
}

export function bulkStatements(names: Names) {
  const reads = bulkSql(names, "postgres");
  return { ...reads, lockJob: `${reads.job} FOR UPDATE` };
}

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

interface AdminParts {
  readonly database: Pick<Database, "read" | "codecs">;
  readonly replica?: Pick<Replica, "read" | "codecs" | "behindMs"> | undefined;
}

/** The reads of operators. */
export function postgresAdmin(names: Names, open: () => AdminParts): Required<AdminStore> {
  const sql = adminStatements(names);
  const bulk = bulkStatements(names);
  const from = (read: Read): Required<Omit<AdminStore, "replica">> => ({
    ...adminReads(sql, bulk, read),
    queues: async (most) => summedByTool(await read(() => rowsOf(sql.queues, [most], lengthOf))),
    estimate: async () => (await read(() => rowsOf(sql.estimate, [sampledPages], alikeIn))).flat(),
  });
  return {
    ...from(readsOf(() => open().database)),
    replica: async () => {
      const { replica } = open();
      const behindMs = await replica?.behindMs();
      if (replica === undefined || behindMs === undefined) return undefined;
      const read = readsOf(() => replica);
      return { ...from(read), between: reportsBetween(reportStatements(names), read), behindMs };
    },
  };
}

export function outboxStatements(names: Names) {
  return outboxSql(names, "postgres");
}

interface ReportParts {
  readonly database: Pick<Database, "read" | "codecs">;
  readonly owners: Pick<Owners, "id" | "leaseMs">;
}

const livingAt = columnsOf(["id", "running", "drainUntil"]);

/** The reports of a schema's owners. */
export function postgresReports(names: Names, open: () => ReportParts): NodeReports {
  const sql = reportStatements(names);
  const read = readsOf(() => open().database);
  return {
    write: async ({ minute, body }, oldest) => {
      const { database, owners } = open();
      // Writing twice does no harm.
      await database.read(sql.write, [toStored(owners.id), minute, toStored(body), oldest]);
    },
    between: reportsBetween(sql, read),
    owners: async (most) =>
      read(() =>
        rowsOf(sql.owners, [open().owners.leaseMs, most], (row) => ({
          id: idOf(row),
          running: integer(row, livingAt.running),
          drainUntil: integerOrNull(row, livingAt.drainUntil),
        })),
      ),
  };
}

/** The reports of processes, and the tasks that they run. */
export function reportStatements(names: Names) {
  const { report, owner, task } = names;
  const all = reportTable.list();
  return {
    ...reportSql(names, "postgres"),
    /** Also deletes old reports, unless others are deleting them. */
    write: `WITH old AS (
        SELECT minute, owner FROM ${report} WHERE minute < $4 ORDER BY minute, owner LIMIT 1000 FOR UPDATE SKIP LOCKED
      ), gone AS (DELETE FROM ${report} USING old WHERE report.minute = old.minute AND report.owner = old.owner)
      INSERT INTO ${report} (${all}) VALUES ($1, $2, $3) ON CONFLICT (minute, owner) DO UPDATE SET body = excluded.body`,
    /** A range, so that the order uses the index: for an owner without tasks, all running tasks would be scanned otherwise. */
    owners: `SELECT id, (SELECT count(*)::int FROM (
        SELECT 1 FROM ${task} WHERE task.state = 'running' AND task.owner >= living.id AND task.owner <= living.id
          AND task.waiting = 0 AND task.open_inputs IS NULL
        ORDER BY task.owner, task.id LIMIT $2) AS held), drain_until
      FROM (SELECT id, drain_until FROM ${owner} WHERE ${seemsToLive("$1::float8")}) AS living ORDER BY id`,
  };
}

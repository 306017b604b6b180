import {
  actionTable,
  bulkJobTable,
  bulkTaskTable,
  causeMarkTable,
  isUnderWay,
  pausedToolTable,
  reportOf,
  reportTable,
} from "./tables/tables.ts";
import {
  failedTask,
  finished,
  isAsking,
  isFailed,
  listedRecord,
  recordList,
  unfinished,
} from "./tables/task.ts";
import type { Dialect } from "./tables/table.ts";
import { countsIn, isOld, onTaskIn } from "./tables/statements.ts";
import type { AdminStore, BulkJobs, FailureCauses, NodeReports, TaskRange } from "./admin-store.ts";
import {
  endOf,
  formsOf,
  pageOf,
  type Query,
  type Read,
  type Reading,
  rowOf,
  rowsOf,
  type Tables,
  type Value,
} from "./dialect.ts";
import {
  type Codec,
  columnsOf,
  idOf,
  inClear,
  integer,
  type Row,
  storedOrNull,
  text,
  textOrStored,
  toStored,
} from "./row.ts";
import type { BulkJob } from "../task/bulk.ts";
import type { TaskRecord } from "../task/record.ts";

/** The reads of operators. Conditions repeat those of the partial indexes. */
export function adminSql(names: Tables, dialect: Dialect) {
  const { task, child, journal, action, pausedTool, causeMark } = names;
  const { either, by, atMost, each } = formsOf(dialect);
  const record = recordList();
  const failure = failedTask.list();
  const stored = actionTable.list();
  /** Tasks of a range below an id, newest first. Search parameters come first. */
  const tasks = (index: string, of: string, searched = 0): string => `SELECT ${record} FROM ${task}${index}
    WHERE ${of} AND id < $${searched + 1} ORDER BY id DESC ${atMost(searched + 2)}`;
  /** Their number, up to a maximum. */
  const counted = (index: string, of: string, searched = 0, from = task): string =>
    `SELECT count(*) FROM (SELECT 1 FROM ${from}${index} WHERE ${of} ${atMost(searched + 1)}) AS counted`;
  const asking = [by("task_asking"), isAsking] as const;
  const open = [by("task_unfinished"), unfinished] as const;
  const as = either(
    "state = iif($2 = 'cancelled', $2, 'settled') AND outcome_kind IS nullif($2, 'cancelled')",
    "coalesce(outcome_kind, state) = $2",
  );
  const ended = [by("task_ended_as"), `${finished} AND tool = $1 AND ${as}`, 2] as const;
  /** The last part for Postgres distinguishes no name from an empty one. */
  const principal = [
    by("task_owner"),
    `generation = $1 AND ${either(
      "principal IS $2",
      "coalesce(principal, '') = coalesce($2::text, '') AND (principal IS NULL) = ($2::text IS NULL)",
    )}`,
    2,
  ] as const;
  const cause = [by("task_cause"), `${isFailed} AND cause = $1`, 1] as const;
  const ofCause = `SELECT ${failure} FROM ${task}${cause[0]} WHERE ${cause[1]}`;
  return {
    all: tasks("", "true"),
    open: tasks(...open),
    asking: tasks(...asking),
    ended: tasks(...ended),
    principal: tasks(...principal),
    cause: tasks(...cause),
    children: `SELECT ${record} FROM ${child}${by("child_parent")} JOIN ${task} ON task.id = child.id
      WHERE child.parent = $1 AND child.id < $2 ORDER BY child.id DESC ${atMost(3)}`,
    countAll: counted("", either("true", "true ORDER BY id")),
    countOpen: counted(...open),
    countAsking: counted(...asking),
    countEnded: counted(...ended),
    countPrincipal: counted(...principal),
    countCause: counted(...cause),
    countChildren: counted(by("child_parent"), "parent = $1", 1, child),
    endedTools: each("tool", `${task}${by("task_ended_as")}`, finished),
    failed: `SELECT ${failure} FROM ${task}${by("task_failed")} WHERE ${isFailed} AND id < $1 ORDER BY id DESC ${atMost(2)}`,
    failedOfCause: `${ofCause} AND id < $2 ORDER BY id DESC ${atMost(3)}`,
    firstOfCause: `${ofCause} AND id > $2 ORDER BY id ${atMost(3)}`,
    /** One seek for each: what seeks them all in one statement is planned to read every failed task. */
    nextCause: `SELECT cause FROM ${task}${by("task_cause")} WHERE ${isFailed} AND cause > $1 ORDER BY cause, id LIMIT 1`,
    causeMarks: `SELECT ${causeMarkTable.list()} FROM ${causeMark} ORDER BY cause`,
    failedKeys: `SELECT key FROM ${journal} WHERE task_id = $1 AND error IS NOT NULL ${atMost(2)}`,
    actions: `SELECT ${stored} FROM ${action} WHERE seq < $1 ORDER BY seq DESC ${atMost(2)}`,
    actionsOf: `SELECT ${stored} FROM ${action}${by("action_task")} WHERE task_id IS NOT NULL AND task_id = $1 AND seq < $2
      ORDER BY seq DESC ${atMost(3)}`,
    paused: `SELECT ${pausedToolTable.list()} FROM ${pausedTool} ORDER BY tool`,
  };
}

/** The reads of bulk jobs. */
export function bulkSql({ bulkJob, bulkTask, action }: Tables, dialect: Dialect) {
  const { by, atMost } = formsOf(dialect);
  const job = bulkJobTable.list();
  const tasks = (
    ended: string,
  ): string => `SELECT ${bulkTaskTable.list()} FROM ${bulkTask}${by("bulk_task_end")}
    WHERE job = $1 AND ended_as ${ended} AND place > $2 ORDER BY place ${atMost(3)}`;
  return {
    job: `SELECT ${job} FROM ${bulkJob} WHERE id = $1`,
    underWay: `SELECT ${job} FROM ${bulkJob}${by("bulk_job_under_way")} WHERE ${isUnderWay} ORDER BY id ${atMost(1)}`,
    list: `SELECT ${job} FROM ${bulkJob} WHERE id < $1 ORDER BY id DESC ${atMost(2)}`,
    oldest: `SELECT ${job} FROM ${bulkJob} ORDER BY id ${atMost(1)}`,
    open: tasks("IS NULL"),
    ended: tasks("= $4"),
    counts: `SELECT ended_as, count(*) FROM ${bulkTask}${by("bulk_task_end")} WHERE job = $1 GROUP BY ended_as`,
    on: `SELECT ${actionTable.list("action")}, ${bulkTaskTable.list("bulk_task")}
      FROM ${bulkTask}${by("bulk_task_task")} JOIN ${action}${by("action_job")} ON action.job IS NOT NULL AND action.job = bulk_task.job
      WHERE bulk_task.task_id = $1 AND bulk_task.ended_as IS NOT NULL AND action.seq < $2
      ORDER BY bulk_task.job DESC ${atMost(3)}`,
  };
}

/** The reports of processes. */
export function reportSql({ report }: Tables, dialect: Dialect) {
  const { atMost } = formsOf(dialect);
  return {
    between: `SELECT ${reportTable.list()} FROM ${report} WHERE minute BETWEEN $1 AND $2 ORDER BY minute DESC ${atMost(3)}`,
  };
}

export type AdminSql = ReturnType<typeof adminSql>;
type BulkSql = ReturnType<typeof bulkSql>;

const toolAt = columnsOf(["tool"]);
const keyAt = columnsOf(["key"]);
const causeAt = columnsOf(["cause"]);
const countAt = columnsOf(["count"]);

/** For a range: the statement for its tasks, the one that counts them, and the search parameters of both. */
interface RangeQuery {
  readonly tasks: string;
  readonly count: string;
  readonly values: readonly Value[];
}

function rangeIn(sql: AdminSql, range: TaskRange): RangeQuery {
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

export function tasksIn(
  sql: AdminSql,
  codec: Codec,
  ...[range, before, limit]: Parameters<AdminStore["tasks"]>
): Reading<TaskRecord[]> {
  const { tasks, values } = rangeIn(sql, range);
  return pageOf(
    limit,
    endOf(before),
    (...page) => ({ sql: tasks, values: [...values, ...page] }),
    (row) => listedRecord(row, codec),
  );
}

/** The reads of operators, except those that each store does in its own way. */
export function adminReads(
  sql: AdminSql,
  bulk: BulkSql,
  read: Read,
): Omit<AdminStore, "queues" | "estimate" | "replica"> {
  return {
    tasks: (...page) => read((codec) => tasksIn(sql, codec, ...page)),
    count: async (range, most) => {
      const { count, values } = rangeIn(sql, range);
      return (await read(() => rowOf(count, [...values, most], (row) => integer(row, countAt.count)))) ?? 0;
    },
    endedTools: () => read(() => rowsOf(sql.endedTools, [], (row) => textOrStored(row, toolAt.tool))),
    actions: (taskId, before, limit) => {
      const page = [before ?? Number.MAX_SAFE_INTEGER, limit];
      const [statement, values] =
        taskId === null ? [sql.actions, page] : [sql.actionsOf, [toStored(taskId), ...page]];
      return read(() => rowsOf(statement, values, (row) => actionTable.read("", row, inClear)));
    },
    failedKeys: (taskId, limit) =>
      read(() => rowsOf(sql.failedKeys, [toStored(taskId), limit], (row) => text(row, keyAt.key)), taskId),
    paused: () => read(() => pausedTools(sql)),
    bulk: bulkReads(bulk, read),
    causes: causeReads(sql, read),
  };
}

export function pausedTools(sql: Pick<AdminSql, "paused">) {
  return rowsOf(sql.paused, [], (row) => pausedToolTable.read("", row, inClear));
}

function causeReads(sql: AdminSql, read: Read): FailureCauses {
  const page = (from: string, limit: number, query: (from: Value, limit: number) => Query) =>
    read(() => pageOf(limit, from, query, (row) => failedTask.decode(row)));
  return {
    failed: (before, limit, cause) =>
      page(endOf(before), limit, (...values) =>
        cause === undefined
          ? { sql: sql.failed, values }
          : { sql: sql.failedOfCause, values: [toStored(cause), ...values] },
      ),
    first: async (cause) =>
      (
        await page("", 1, (...values) => ({ sql: sql.firstOfCause, values: [toStored(cause), ...values] }))
      )[0],
    names: (limit) => read(() => causeNames(sql, limit)),
    marks: () =>
      read((codec) => rowsOf(sql.causeMarks, [], (row) => causeMarkTable.read(String(row[0]), row, codec))),
  };
}

function* causeNames(sql: AdminSql, limit: number): Reading<string[]> {
  const names: string[] = [];
  for (let last: Value = ""; names.length < limit;) {
    const rows: readonly Row[] = yield { sql: sql.nextCause, values: [last] };
    const [row] = rows;
    if (row === undefined) break;
    names.push(textOrStored(row, causeAt.cause));
    last = row[0] ?? null;
  }
  return names;
}

export function bulkJobIn(row: Row, codec: Codec): BulkJob {
  return bulkJobTable.read(idOf(row), row, codec);
}

function bulkReads(sql: BulkSql, read: Read): BulkJobs {
  const jobs = (statement: string, ...values: Value[]): Promise<BulkJob[]> =>
    read((codec) => rowsOf(statement, values, (row) => bulkJobIn(row, codec)));
  return {
    get: async (id) => (await jobs(sql.job, toStored(id)))[0],
    underWay: (limit) => jobs(sql.underWay, limit),
    list: (before, limit) => jobs(sql.list, endOf(before), limit),
    old: async (now, limit) => (await jobs(sql.oldest, limit)).filter((job) => isOld(job, now)),
    tasks: (job, endedAs, after, limit) => {
      const of = [toStored(job), after, limit];
      const [statement, values] = endedAs === null ? [sql.open, of] : [sql.ended, [...of, endedAs]];
      return read(() => rowsOf(statement, values, (row) => bulkTaskTable.read("", row, inClear)));
    },
    counts: async (job) => countsIn(await read(() => rowsOf(sql.counts, [toStored(job)], (row) => row))),
    on: (taskId, before, limit) =>
      read(() => rowsOf(sql.on, [toStored(taskId), before ?? Number.MAX_SAFE_INTEGER, limit], onTaskIn)),
  };
}

export function reportsBetween(
  { between }: ReturnType<typeof reportSql>,
  read: Read,
): NodeReports["between"] {
  return (...range) => read(() => rowsOf(between, range, reportOf));
}

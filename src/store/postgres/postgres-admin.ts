import type { StoredAction, TaskRecord } from "../../task/record.ts";
import { inClear } from "../codec.ts";
import { actionTable, causeMarkTable, pausedToolTable } from "../tables/tables.ts";
import { failedIn } from "../tables/task.ts";
import type {
  AdminStore,
  AlikeTasks,
  FailureCauses,
  PausedTool,
  ReplicaReads,
  TaskRange,
} from "../admin-store.ts";
import { summedByTool, type QueueLength } from "../queue-length.ts";
import { columnsOf, integer, integerOrNull, oneOf, text, textOrStored, type Row } from "../row.ts";
import { storedOrNull, toStored } from "../stored-text.ts";
import { adminStatements, alikeTasks, type AdminStatements } from "./admin-sql.ts";
import type { Database, SqlValue } from "./database.ts";
import type { Names } from "./names.ts";
import { PostgresBulk } from "./postgres-bulk.ts";
import { reportsBetween } from "./postgres-reports.ts";
import { behindAllTexts, readableTasks } from "./read-task.ts";
import type { Replica } from "./replica.ts";

const toolAt = columnsOf(["tool"]);
const keyAt = columnsOf(["key"]);

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
  return {
    async failed(before, limit) {
      const end = before === null ? behindAllTexts : toStored(before);
      return failedIn(await open().database.read(sql.failed, [end, limit]));
    },
    first: async (cause) => failedIn(await open().database.read(sql.firstOfCause, [toStored(cause)]))[0],
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
      database.codecs.reading,
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

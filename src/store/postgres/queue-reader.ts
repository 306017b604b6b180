import { hasHandler, type HandlerName, compareNames, lanesFrom, noTurns } from "../../task/queue.ts";
import type { QueueLane, TaskRecord } from "../../task/record.ts";
import { takeFairly } from "../fair-order.ts";
import { handlerOf, handlersIn } from "../handler-row.ts";
import type { ReadyTasks } from "../ready-line.ts";
import { columnsOf, textOrStored, type Row } from "../row.ts";
import { toStoredWithoutNul as toStored } from "../stored-text.ts";
import type { Database } from "./database.ts";
import type { ReadStatements } from "./read-sql.ts";
import { readableTasks, recordIfReadable } from "./read-task.ts";

const lineAt = columnsOf(["owner", "principal"]);
const headAt = columnsOf(["id", "record", "principal", "lane"]);
const waitingAt = columnsOf(["id", "record", "run_after"]);
const handlersAt = columnsOf(["handlers"]);
const lanes = lanesFrom("new");

/** Before all times. */
const earliest = -Number.MAX_SAFE_INTEGER;

/** The owners and principals with claimable tasks of a handler, as stored. */
interface Lines {
  readonly owners: readonly string[];
  readonly principals: readonly string[];
}

/** Reads the queue for operators and for handlers that are gone; claims use other statements. */
export class QueueReader {
  readonly #database: Pick<Database, "read">;
  readonly #sql: ReadStatements;

  constructor(database: Pick<Database, "read">, sql: ReadStatements) {
    this.#database = database;
    this.#sql = sql;
  }

  /** Reads the owners last: an owner exists before it queues a task. */
  async orphanedHandlers(): Promise<readonly HandlerName[]> {
    const queued = (await this.#database.read(this.#sql.queuedHandlers)).flatMap(
      (row) => handlerOf(row) ?? [],
    );
    if (queued.length === 0) return [];
    const owners = await this.#database.read(this.#sql.ownerHandlers);
    const served = owners.flatMap((row) => handlersIn(textOrStored(row, handlersAt.handlers)));
    return queued.filter((handler) => !hasHandler(served, handler));
  }

  async queued(handler: HandlerName, limit: number): Promise<readonly string[]> {
    if (limit <= 0) return [];
    const ready = await this.#ready(handler, limit);
    const waiting = await this.#waiting(handler, limit - ready.length);
    return [...ready, ...waiting].map(({ id }) => id);
  }

  async #ready(handler: HandlerName, limit: number): Promise<readonly TaskRecord[]> {
    const lines = await this.#lines(handler, limit);
    if (lines.principals.length === 0) return [];
    // Mostly, principals have equally many tasks; if one has more, more are read.
    for (let depth = Math.ceil(limit / lines.principals.length) + 1; ; depth *= 2) {
      const values = [handler.method, toStored(handler.tool), lines.owners, lines.principals, lanes, depth];
      const heads = new Heads(await this.#database.read(this.#sql.readyHeads, values), depth);
      const line = heads.line(handler, lines.principals);
      const { tasks } = takeFairly([line], { handlers: [handler], turns: noTurns, limit }, () => 0);
      if (!heads.endedEarly) return tasks;
    }
  }

  /** Each principal has a turn before any has a second one, so the first `limit` principals are enough. */
  async #lines({ method, tool }: HandlerName, limit: number): Promise<Lines> {
    const rows = await this.#database.read(this.#sql.readyLines, [method, toStored(tool), limit]);
    const named = ({ place }: { readonly place: number }): string[] => [
      ...new Set(rows.map((row) => String(row[place]))),
    ];
    return {
      owners: named(lineAt.owner),
      principals: named(lineAt.principal).sort(compareNames).slice(0, limit),
    };
  }

  #waiting({ method, tool }: HandlerName, limit: number): Promise<readonly TaskRecord[]> {
    return readableTasks(limit, (last, count) => {
      const after = [Number(last?.[waitingAt.run_after.place] ?? earliest), String(last?.[0] ?? "")];
      return this.#database.read(this.#sql.waiting, [method, toStored(tool), ...after, count]);
    });
  }
}

/** The first tasks of each principal in each lane. */
class Heads {
  readonly #rows: Map<string, Row[]>;
  readonly #depth: number;
  /** True once more was requested than had been read. */
  endedEarly = false;

  constructor(rows: readonly Row[], depth: number) {
    this.#rows = Map.groupBy(rows, (row) =>
      [headAt.lane, headAt.principal].map(({ place }) => row[place]).join(" "),
    );
    this.#depth = depth;
  }

  line(handler: HandlerName, principals: readonly string[]): ReadyTasks<TaskRecord> {
    return {
      handler,
      principalAfter: (after) =>
        principals.find((principal) => after === null || compareNames(principal, after) > 0),
      of: (principal, lane) => this.#of(principal, lane),
    };
  }

  *#of(principal: string, lane: QueueLane): Generator<TaskRecord, void, undefined> {
    const rows = this.#rows.get(`${lane} ${principal}`) ?? [];
    for (const row of rows) {
      const task = recordIfReadable(row);
      if (task !== undefined) yield task;
    }
    if (rows.length >= this.#depth) this.endedEarly = true;
  }
}

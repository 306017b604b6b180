import type { SQLInputValue } from "node:sqlite";
import type { UnreadableTask } from "../../task/command.ts";
import { hasHandler, uniqueHandlers, type HandlerName } from "../../task/queue.ts";
import type { QueueLane, TaskRecord } from "../../task/record.ts";
import { latestTime } from "../../task/time.ts";
import { handlerOf, type QueueLength } from "../admin-store.ts";
import { type FairQuery, type ReadyTasks, take, takeFairly } from "../fair-order.ts";
import type { QueuedTasks, RunnableTasks, RunningQuery, RunningTasks } from "../facts.ts";
import { readableInOrder, readableTasks } from "./readable-rows.ts";
import type { RowStatement, Statements } from "./statements.ts";
import { columnsOf, idOf, integer, integerOrNull, type Row, toStored } from "../row.ts";
import { countParked, countReady } from "./admin-sql.ts";
import * as sql from "./sql.ts";

const wakeAt = columnsOf(["at"]);
const countAt = columnsOf(["count"]);
const lengthAt = columnsOf(["count", "since"]);

type MayTake = (owner: string | null, handler: HandlerName) => boolean;

/** Reads the queue: by owner and handler, since a process takes only its own tasks, and those that nobody else will run. */
export class SqliteQueue {
  readonly #sql: Statements;

  constructor(statements: Statements) {
    this.#sql = statements;
  }

  runnable(query: FairQuery, mayTake: MayTake): RunnableTasks {
    const unreadable: UnreadableTask[] = [];
    const lines = this.#lines(query.handlers, mayTake, unreadable);
    const running = (handler: HandlerName): number => this.#limitedOf(handler);
    const suspectRuns = (): boolean => this.#sql.get(sql.selectTried) !== undefined;
    return { ...takeFairly(lines, query, running, suspectRuns), unreadable };
  }

  /** Waiting tasks whose time has come at `now`. */
  toWake(now: number, limit: number): QueuedTasks {
    const unreadable: UnreadableTask[] = [];
    const tasks = [...this.#parkedHandlers()].flatMap((handler) =>
      take(this.#parkedUntil(handler, now, unreadable), limit),
    );
    return { tasks: tasks.sort(byTime).slice(0, limit), unreadable };
  }

  /** The first time after `after` until which a task waits. */
  nextWakeAt(after: number): number | null {
    let next: number | null = null;
    for (const { method, tool } of this.#parkedHandlers()) {
      const row = this.#sql.get(sql.selectNextWake, method, toStored(tool), after, latestTime);
      if (row !== undefined) next = Math.min(next ?? Infinity, integer(row, wakeAt.at));
    }
    return next;
  }

  /** The running tasks of a lost owner. */
  running({ owner, after, limit, now }: RunningQuery): RunningTasks {
    const rows = this.#sql.all(sql.selectRunning, owner, now, toStored(after), limit);
    const last = rows.at(-1);
    const next = last === undefined || rows.length < limit ? null : idOf(last);
    const unreadable: UnreadableTask[] = [];
    return { alive: false, tasks: readableTasks(rows, unreadable, this.#sql.codec), unreadable, next };
  }

  /** The handlers of queued tasks. */
  handlers(): readonly HandlerName[] {
    const ready = [...this.#owners()].flatMap((owner) => [...this.#handlersOf(owner)]);
    return uniqueHandlers([...ready, ...this.#parkedHandlers()]);
  }

  /** Looks at no more than `most` tasks of each tool, for each owner that they are queued for. */
  *lengths(most: number): Generator<QueueLength, void, undefined> {
    for (const owner of this.#owners())
      for (const { method, tool } of this.#handlersOf(owner))
        yield lengthOf("ready", tool, this.#sql.get(countReady, owner, method, toStored(tool), most));
    for (const { method, tool } of this.#parkedHandlers())
      yield lengthOf("parked", tool, this.#sql.get(countParked, method, toStored(tool), most));
  }

  /** The lines that may be taken for the handlers. */
  *#lines(
    handlers: readonly HandlerName[],
    mayTake: MayTake,
    unreadable: UnreadableTask[],
  ): Generator<ReadyTasks<TaskRecord>> {
    for (const owner of this.#owners()) {
      for (const handler of this.#handlersOf(owner)) {
        if (hasHandler(handlers, handler) && mayTake(owner === "" ? null : owner, handler))
          yield this.#line(owner, handler, unreadable);
      }
    }
  }

  /** Principals are named as they are stored. */
  #line(owner: string, handler: HandlerName, unreadable: UnreadableTask[]): ReadyTasks<TaskRecord> {
    const line = [owner, handler.method, toStored(handler.tool)];
    return {
      handler,
      principalAfter: (after) => {
        const [principal] = this.#sql.get(sql.selectReadyPrincipal, ...line, after ?? -Infinity) ?? [];
        return typeof principal === "string" ? principal : undefined;
      },
      of: (principal: string, lane: QueueLane) =>
        readableInOrder(
          this.#sql.rows(sql.selectReady),
          [...line, principal, lane],
          unreadable,
          this.#sql.codec,
        ),
      nothingLeft: (principal) =>
        void readableTasks(
          this.#sql.all(sql.selectReadyDamaged, ...line, principal),
          unreadable,
          this.#sql.codec,
        ),
    };
  }

  #limitedOf({ method, tool }: HandlerName): number {
    const row = this.#sql.get(sql.countLimited, method, toStored(tool));
    return row === undefined ? 0 : integer(row, countAt.count);
  }

  #parkedUntil(
    { method, tool }: HandlerName,
    until: number,
    unreadable: UnreadableTask[],
  ): Generator<TaskRecord, void, undefined> {
    return readableInOrder(
      this.#sql.rows(sql.selectParked),
      [method, toStored(tool), until],
      unreadable,
      this.#sql.codec,
    );
  }

  /** Those whose tasks wait for them, and first an empty one, for tasks that any owner may take. */
  *#owners(): Generator<string> {
    yield "";
    for (
      let row = this.#sql.get(sql.selectReadyOwner, "");
      row !== undefined;
      row = this.#sql.get(sql.selectReadyOwner, ...row)
    ) {
      const [owner] = row;
      if (typeof owner === "string") yield owner;
    }
  }

  #handlersOf(owner: string): Generator<HandlerName> {
    return handlersIn(this.#sql.rows(sql.selectReadyMethod), this.#sql.rows(sql.selectReadyTool), [owner]);
  }

  #parkedHandlers(): Generator<HandlerName> {
    return handlersIn(this.#sql.rows(sql.selectParkedMethod), this.#sql.rows(sql.selectParkedTool), []);
  }
}

function lengthOf(state: QueueLength["state"], tool: string, row: Row = [0, null]): QueueLength {
  return { tool, state, tasks: integer(row, lengthAt.count), since: integerOrNull(row, lengthAt.since) };
}

/** One seek for each handler. */
function* handlersIn(
  nextMethod: RowStatement,
  nextTool: RowStatement,
  of: readonly SQLInputValue[],
): Generator<HandlerName> {
  for (let row = nextMethod.get(...of, ""); row !== undefined;) {
    const handler = handlerOf(row);
    if (handler !== undefined) yield handler;
    const [method = null] = row;
    row = nextTool.get(...of, ...row) ?? nextMethod.get(...of, method);
  }
}

function byTime(a: TaskRecord, b: TaskRecord): number {
  return (a.runAfter ?? 0) - (b.runAfter ?? 0) || (a.id < b.id ? -1 : 1);
}

import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { UnreadableTask } from "../../task/command.ts";
import { HoldfastError, isUnreadable } from "../../task/fault.ts";
import { hasHandler, uniqueHandlers, type HandlerName } from "../../task/owner.ts";
import type { TaskRecord } from "../../task/record.ts";
import { latestTime } from "../../task/time.ts";
import type { QueuedTasks, RunnableQuery, RunningQuery, RunningTasks } from "../facts.ts";
import { methods, recordOf, taskColumns } from "./record-row.ts";
import { readTask } from "./read-task.ts";
import { prepareRows, type RowStatement } from "./row-statement.ts";
import { columnsOf, idOf, integer, oneOf, text, type Row } from "./row.ts";
import * as sql from "./sql.ts";
import { toStored } from "./stored-text.ts";

const taskAt = columnsOf(taskColumns);
const handlerAt = columnsOf(["method", "tool"]);
const wakeAt = columnsOf(["at"]);

/** What pages of rows came to. */
interface Page {
  readonly tasks: TaskRecord[];
  readonly unreadable: UnreadableTask[];
}

/** Reads the queue: by owner and handler, since a process takes only its own, and what nobody else is to run. */
export class SqliteQueue {
  readonly #nextOwner: RowStatement;
  readonly #nextMethod: RowStatement;
  readonly #nextTool: RowStatement;
  readonly #ready: RowStatement;
  readonly #nextParkedMethod: RowStatement;
  readonly #nextParkedTool: RowStatement;
  readonly #parked: RowStatement;
  readonly #nextWake: RowStatement;
  readonly #running: RowStatement;

  constructor(db: DatabaseSync) {
    this.#nextOwner = prepareRows(db, sql.selectReadyOwner);
    this.#nextMethod = prepareRows(db, sql.selectReadyMethod);
    this.#nextTool = prepareRows(db, sql.selectReadyTool);
    this.#ready = prepareRows(db, sql.selectReady);
    this.#nextParkedMethod = prepareRows(db, sql.selectParkedMethod);
    this.#nextParkedTool = prepareRows(db, sql.selectParkedTool);
    this.#parked = prepareRows(db, sql.selectParked);
    this.#nextWake = prepareRows(db, sql.selectNextWake);
    this.#running = prepareRows(db, sql.selectRunning);
  }

  runnable({ handlers, limit }: RunnableQuery, mayTake: (owner: string | null) => boolean): QueuedTasks {
    const found: Page = { tasks: [], unreadable: [] };
    for (const [owner, handler] of this.#lines(handlers, mayTake))
      add(found, this.#readyPage(owner, handler, limit));
    return { tasks: found.tasks.sort(byTime).slice(0, limit), unreadable: found.unreadable };
  }

  hasRunnable(handlers: readonly HandlerName[], mayTake: (owner: string | null) => boolean): boolean {
    for (const line of this.#lines(handlers, mayTake)) {
      if (this.#readyPage(...line, 1).tasks.length > 0) return true;
    }
    return false;
  }

  /** Those that wait, up to a time that has come at `now`. */
  toWake(now: number, limit: number): QueuedTasks {
    const found: Page = { tasks: [], unreadable: [] };
    for (const handler of this.#parkedHandlers()) add(found, this.#parkedPage(handler, now, limit));
    return { tasks: found.tasks.sort(byTime).slice(0, limit), unreadable: found.unreadable };
  }

  /** The first time after `after` until which one of them waits. */
  nextWakeAt(after: number): number | null {
    let next: number | null = null;
    for (const { method, tool } of this.#parkedHandlers()) {
      const row = this.#nextWake.get(method, toStored(tool), after, latestTime);
      if (row !== undefined) next = Math.min(next ?? Infinity, integer(row, wakeAt.at));
    }
    return next;
  }

  /** Of an owner that is gone. */
  running({ owner, after, limit, now }: RunningQuery): RunningTasks {
    const rows = this.#running.all(owner, now, toStored(after), limit);
    const last = rows.at(-1);
    const next = last === undefined || rows.length < limit ? null : idOf(last);
    return { alive: false, ...readable(rows), next };
  }

  /** What would have to run the queued tasks. */
  handlers(): readonly HandlerName[] {
    const ready = [...this.#owners()].flatMap((owner) => [...this.#handlersOf(owner)]);
    return uniqueHandlers([...ready, ...this.#parkedHandlers()]);
  }

  ids(handler: HandlerName, limit: number): readonly string[] {
    const ready = [...this.#owners()].flatMap((owner) => this.#readyPage(owner, handler, limit).tasks);
    return [...ready, ...this.#parkedPage(handler, latestTime, limit).tasks]
      .sort(byTime)
      .slice(0, limit)
      .map(({ id }) => id);
  }

  #readyPage(owner: string | null, { method, tool }: HandlerName, limit: number): Page {
    return page(this.#ready, [owner, method, toStored(tool)], limit);
  }

  #parkedPage({ method, tool }: HandlerName, until: number, limit: number): Page {
    return page(this.#parked, [method, toStored(tool), until], limit);
  }

  /** What may be taken for the handlers. */
  *#lines(
    handlers: readonly HandlerName[],
    mayTake: (owner: string | null) => boolean,
  ): Generator<[string | null, HandlerName]> {
    for (const owner of this.#owners()) {
      if (!mayTake(owner)) continue;
      for (const handler of this.#handlersOf(owner))
        if (hasHandler(handlers, handler)) yield [owner, handler];
    }
  }

  *#owners(): Generator<string | null> {
    yield null;
    for (let row = this.#nextOwner.get(""); row !== undefined; row = this.#nextOwner.get(...row)) {
      const [owner] = row;
      if (typeof owner === "string") yield owner;
    }
  }

  #handlersOf(owner: string | null): Generator<HandlerName> {
    return handlersIn(this.#nextMethod, this.#nextTool, [owner]);
  }

  #parkedHandlers(): Generator<HandlerName> {
    return handlersIn(this.#nextParkedMethod, this.#nextParkedTool, []);
  }
}

/** A seek for each of them. */
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

/** Up to `limit` of a line; those that cannot be read make it no shorter. */
function page(statement: RowStatement, line: readonly SQLInputValue[], limit: number): Page {
  const found: Page = { tasks: [], unreadable: [] };
  for (let from: readonly SQLInputValue[] = [-Infinity, ""]; found.tasks.length < limit;) {
    const wanted = limit - found.tasks.length;
    const rows = statement.all(...line, ...from, wanted);
    add(found, readable(rows));
    const last = rows.at(-1);
    if (last === undefined || rows.length < wanted) break;
    from = [last[taskAt.run_after.place] ?? null, last[taskAt.id.place] ?? null];
  }
  return found;
}

function add(to: Page, { tasks, unreadable }: Page): void {
  to.tasks.push(...tasks);
  to.unreadable.push(...unreadable);
}

function byTime(a: TaskRecord, b: TaskRecord): number {
  return (a.runAfter ?? 0) - (b.runAfter ?? 0) || (a.id < b.id ? -1 : 1);
}

/** Undefined for a damaged name, which is that of no handler. */
function handlerOf(row: Row): HandlerName | undefined {
  try {
    return { method: oneOf(row, handlerAt.method, methods), tool: text(row, handlerAt.tool) };
  } catch {
    return undefined;
  }
}

/** A record that is written back under its id. */
function recordWithId(row: Row): TaskRecord {
  const task = recordOf(row);
  if (toStored(task.id) !== row[taskAt.id.place]) throw new Error(`the id ${task.id} is damaged`);
  return task;
}

function readable(rows: readonly Row[]): Page {
  const found: Page = { tasks: [], unreadable: [] };
  for (const row of rows) {
    try {
      found.tasks.push(readTask(idOf(row), () => recordWithId(row)));
    } catch (error) {
      // Only of the record itself: what the disk or the memory fails with concerns all of them.
      if (!(error instanceof HoldfastError) || !isUnreadable(error)) throw error;
      found.unreadable.push({ id: idOf(row), problem: error.message });
    }
  }
  return found;
}

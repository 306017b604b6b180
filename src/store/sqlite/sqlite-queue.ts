import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { UnreadableTask } from "../../task/command.ts";
import { HoldfastError, isUnreadable } from "../../task/fault.ts";
import { hasHandler, uniqueHandlers, type HandlerName } from "../../task/owner.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { RunnableQuery, RunnableTasks, RunningQuery, RunningTasks } from "../facts.ts";
import { methods, recordOf, taskColumns } from "./record-row.ts";
import { readTask } from "./read-task.ts";
import { prepareRows, type RowStatement } from "./row-statement.ts";
import { columnsOf, idOf, oneOf, text, type Row } from "./row.ts";
import * as sql from "./sql.ts";
import { toStored } from "./stored-text.ts";

const taskAt = columnsOf(taskColumns);
const handlerAt = columnsOf(["method", "tool"]);

/** What a page of rows came to. */
interface Page {
  readonly tasks: TaskRecord[];
  readonly unreadable: UnreadableTask[];
}

/** Reads the queue: by owner and handler, since a process takes only its own, and what nobody else is to run. */
export class SqliteQueue {
  readonly #nextOwner: RowStatement;
  readonly #nextMethod: RowStatement;
  readonly #nextTool: RowStatement;
  readonly #queued: RowStatement;
  readonly #running: RowStatement;

  constructor(db: DatabaseSync) {
    this.#nextOwner = prepareRows(db, sql.selectQueuedOwner);
    this.#nextMethod = prepareRows(db, sql.selectQueuedMethod);
    this.#nextTool = prepareRows(db, sql.selectQueuedTool);
    this.#queued = prepareRows(db, sql.selectQueued);
    this.#running = prepareRows(db, sql.selectRunning);
  }

  runnable(
    { handlers, now, limit }: RunnableQuery,
    mayTake: (owner: string | null) => boolean,
  ): RunnableTasks {
    const found: TaskRecord[] = [];
    const unreadable: UnreadableTask[] = [];
    let next: number | null = null;
    for (const owner of this.#owners()) {
      if (!mayTake(owner)) continue;
      for (const handler of this.#handlersOf(owner)) {
        if (!hasHandler(handlers, handler)) continue;
        const page = this.#page(owner, handler, limit);
        unreadable.push(...page.unreadable);
        for (const task of page.tasks) {
          const runAfter = task.runAfter ?? 0;
          if (runAfter <= now) found.push(task);
          else next = Math.min(next ?? Infinity, runAfter);
        }
      }
    }
    found.sort(byTime);
    return { tasks: found.slice(0, limit), unreadable, next };
  }

  /** The earliest `runAfter` of what may be taken. */
  claimableAt(handlers: readonly HandlerName[], mayTake: (owner: string | null) => boolean): number | null {
    let earliest: number | null = null;
    for (const owner of this.#owners()) {
      if (!mayTake(owner)) continue;
      for (const handler of this.#handlersOf(owner)) {
        if (!hasHandler(handlers, handler)) continue;
        const [first] = this.#page(owner, handler, 1).tasks;
        if (first !== undefined) earliest = Math.min(earliest ?? Infinity, first.runAfter ?? 0);
      }
    }
    return earliest;
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
    return uniqueHandlers([...this.#owners()].flatMap((owner) => [...this.#handlersOf(owner)]));
  }

  ids(handler: HandlerName, limit: number): readonly string[] {
    const tasks = [...this.#owners()].flatMap((owner) => this.#page(owner, handler, limit).tasks);
    return tasks
      .sort(byTime)
      .slice(0, limit)
      .map(({ id }) => id);
  }

  /** Up to `limit` of a line; those that cannot be read make it no shorter. */
  #page(owner: string | null, { method, tool }: HandlerName, limit: number): Page {
    const line = [owner, method, toStored(tool)];
    const page: Page = { tasks: [], unreadable: [] };
    for (let from: readonly SQLInputValue[] = [-Infinity, ""]; page.tasks.length < limit;) {
      const wanted = limit - page.tasks.length;
      const rows = this.#queued.all(...line, ...from, wanted);
      const { tasks, unreadable } = readable(rows);
      page.tasks.push(...tasks);
      page.unreadable.push(...unreadable);
      const last = rows.at(-1);
      if (last === undefined || rows.length < wanted) break;
      from = [last[taskAt.run_after.place] ?? null, last[taskAt.id.place] ?? null];
    }
    return page;
  }

  *#owners(): Generator<string | null> {
    yield null;
    for (let row = this.#nextOwner.get(""); row !== undefined; row = this.#nextOwner.get(...row)) {
      const [owner] = row;
      if (typeof owner === "string") yield owner;
    }
  }

  *#handlersOf(owner: string | null): Generator<HandlerName> {
    for (let row = this.#nextMethod.get(owner, ""); row !== undefined;) {
      const handler = handlerOf(row);
      if (handler !== undefined) yield handler;
      const [method = null] = row;
      row = this.#nextTool.get(owner, ...row) ?? this.#nextMethod.get(owner, method);
    }
  }
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
  const page: Page = { tasks: [], unreadable: [] };
  for (const row of rows) {
    try {
      page.tasks.push(readTask(idOf(row), () => recordWithId(row)));
    } catch (error) {
      // Only of the record itself: what the disk or the memory fails with concerns all of them.
      if (!(error instanceof HoldfastError) || !isUnreadable(error)) throw error;
      page.unreadable.push({ id: idOf(row), problem: error.message });
    }
  }
  return page;
}

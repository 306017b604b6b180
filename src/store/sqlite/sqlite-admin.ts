import type { SQLInputValue } from "node:sqlite";
import type { StoredAction, TaskRecord } from "../../task/record.ts";
import { columnsOf, inClear, integer, type Row, text, textOrStored, toStored } from "../row.ts";
import type { CauseMark } from "../../task/cause.ts";
import { failedTask, type FailedTask } from "../tables/task.ts";
import { actionTable, causeMarkTable, pausedToolTable } from "../tables/tables.ts";
import type { EndedAs, PausedTool, TaskRange } from "../admin-store.ts";
import * as sql from "./admin-sql.ts";
import { behindAllTexts, readablePage } from "./readable-rows.ts";
import { recordOf, type RowStatement, type Statements } from "./statements.ts";

const countAt = columnsOf(["count"]);
const toolAt = columnsOf(["tool"]);
const keyAt = columnsOf(["key"]);
const causeAt = columnsOf(["cause"]);

interface RangeStatements {
  readonly tasks: RowStatement;
  readonly count: RowStatement;
}

/** The reads of operators. */
export class SqliteAdmin {
  readonly #sql: Statements;

  constructor(statements: Statements) {
    this.#sql = statements;
  }

  tasks(range: TaskRange, before: string | null, limit: number): TaskRecord[] {
    const { statements, values } = this.#range(range);
    const from = before === null ? behindAllTexts : toStored(before);
    return readablePage(
      from,
      limit,
      (end, count) => statements.tasks.all(...values, end, count),
      (row) => recordOf(row, this.#sql.codec),
    );
  }

  count(range: TaskRange, most: number): number {
    const { statements, values } = this.#range(range);
    const row = statements.count.get(...values, most);
    return row === undefined ? 0 : integer(row, countAt.count);
  }

  endedTools(): string[] {
    const tools: string[] = [];
    const next = this.#sql.rows(sql.selectEndedTool);
    for (let row = next.get(""); row !== undefined; row = next.get(row[0] ?? null)) {
      tools.push(textOrStored(row, toolAt.tool));
    }
    return tools;
  }

  actions(taskId: string | null, before: number | null, limit: number): StoredAction[] {
    const last = before ?? Number.MAX_SAFE_INTEGER;
    const rows =
      taskId === null
        ? this.#sql.all(sql.selectActions, last, limit)
        : this.#sql.all(sql.selectActionsOf, toStored(taskId), last, limit);
    return rows.map((row) => actionTable.read("", row, inClear));
  }

  failedKeys(taskId: string, limit: number): string[] {
    return this.#sql.all(sql.selectFailedKeys, toStored(taskId), limit).map((row) => text(row, keyAt.key));
  }

  paused(): PausedTool[] {
    return this.#sql.all(sql.selectPaused).map((row) => pausedToolTable.read("", row, inClear));
  }

  failed(before: string | null, limit: number, cause?: string): readonly FailedTask[] {
    const page = (from: SQLInputValue, count: number): readonly Row[] =>
      cause === undefined
        ? this.#sql.all(sql.selectFailed, from, count)
        : this.#sql.all(sql.selectFailedOfCause, toStored(cause), from, count);
    return readablePage(before === null ? behindAllTexts : toStored(before), limit, page, (row) =>
      failedTask.decode(row),
    );
  }

  firstOf(cause: string): FailedTask | undefined {
    return readablePage(
      "",
      1,
      (from, count) => this.#sql.all(sql.selectFirstOfCause, toStored(cause), from, count),
      (row) => failedTask.decode(row),
    )[0];
  }

  causeNames(limit: number): string[] {
    const names: string[] = [];
    const next = this.#sql.rows(sql.selectNextCause);
    for (let row = next.get(""); row !== undefined && names.length < limit; row = next.get(row[0] ?? null))
      names.push(textOrStored(row, causeAt.cause));
    return names;
  }

  marks(): CauseMark[] {
    return this.#sql
      .all(sql.selectCauseMarks)
      .map((row) => causeMarkTable.read(String(row[0]), row, this.#sql.codec));
  }

  #range(range: TaskRange): {
    readonly statements: RangeStatements;
    readonly values: readonly SQLInputValue[];
  } {
    const of = (tasks: string, count: string, ...values: SQLInputValue[]) => ({
      statements: { tasks: this.#sql.rows(tasks), count: this.#sql.rows(count) },
      values,
    });
    switch (range.of) {
      case "all":
        return of(sql.selectAll, sql.countAll);
      case "open":
        return of(sql.selectOpen, sql.countOpen);
      case "asking":
        return of(sql.selectAsking, sql.countAsking);
      case "ended":
        return of(sql.selectEnded, sql.countEnded, toStored(range.tool), ...columnsOfEnd(range.as));
      case "cause":
        return of(sql.selectOfCause, sql.countOfCause, toStored(range.cause));
      case "principal": {
        const principal = range.principal === null ? null : toStored(range.principal);
        return of(sql.selectOfPrincipal, sql.countOfPrincipal, range.generation, principal);
      }
      case "children":
        return of(sql.selectChildrenOf, sql.countChildren, toStored(range.parent));
    }
  }
}

/** The state of a task with this end, and the kind of its outcome. */
function columnsOfEnd(as: EndedAs): readonly [string, string | null] {
  return as === "cancelled" ? [as, null] : ["settled", as];
}

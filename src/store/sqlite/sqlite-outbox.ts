import type { StoredDelivery } from "../../task/delivery.ts";
import type { DeliveryQuery, ExcessQuery, WaitingDeliveries } from "../outbox.ts";
import { columnsOf, integer, integerOrNull, type Row, text, toStored } from "../row.ts";
import { deliveriesIn, failureIn } from "../tables/tables.ts";
import * as sql from "./admin-sql.ts";
import type { Statements } from "./statements.ts";

const seqAt = columnsOf(["seq"]);
const dueAt = columnsOf(["due_at"]);
const hookAt = columnsOf(["hook"]);
const countAt = columnsOf(["count"]);
const waitingAt = columnsOf(["count", "oldest"]);

/** Webhook messages, on the write connection. */
export class SqliteOutboxTable {
  readonly #sql: Statements;

  constructor(statements: Statements) {
    this.#sql = statements;
  }

  deliveries({ hook, now, later, limit }: DeliveryQuery): readonly StoredDelivery[] {
    if (now === null) return deliveriesIn(this.#sql.all(sql.selectGivenUpDeliveries, hook, limit));
    const due = later === true ? sql.selectLaterDeliveries : sql.selectDueDeliveries;
    return deliveriesIn(this.#sql.all(due, hook, now, limit));
  }

  excess({ most, before, limit }: ExcessQuery): readonly number[] {
    return this.#sql
      .all(sql.selectExcessDeliveries, limit, before, most)
      .map((row) => integer(row, seqAt.seq));
  }
}

/** The reads of webhook messages. */
export class SqliteOutbox {
  readonly #sql: Statements;

  constructor(statements: Statements) {
    this.#sql = statements;
  }

  nextDueAt(hook: string): number | null {
    const row = this.#sql.get(sql.selectNextDelivery, hook);
    return row === undefined ? null : integerOrNull(row, dueAt.due_at);
  }

  counts(most: number): WaitingDeliveries[] {
    const counts: WaitingDeliveries[] = [];
    for (let row = this.#next(""); row !== undefined;) {
      const hook = text(row, hookAt.hook);
      counts.push({
        hook,
        ...this.#waiting(hook, most),
        givenUp: this.#count(sql.countGivenUpDeliveries, hook, most),
        lastFailure: failureIn(this.#sql.get(sql.selectLastFailure, hook)),
      });
      row = this.#next(hook);
    }
    return counts;
  }

  ofTask(taskId: string, lookedThrough: number): readonly StoredDelivery[] {
    return deliveriesIn(this.#sql.all(sql.selectDeliveriesOfTask, lookedThrough, toStored(taskId)));
  }

  before(seq: number, limit: number): readonly StoredDelivery[] {
    return deliveriesIn(this.#sql.all(sql.selectDeliveriesBefore, seq, limit));
  }

  #next(hook: string): Row | undefined {
    return this.#sql.get(sql.selectNextHook, hook);
  }

  #waiting(hook: string, most: number): Pick<WaitingDeliveries, "waiting" | "oldestAt"> {
    const row = this.#sql.get(sql.countWaitingDeliveries, hook, most);
    if (row === undefined) return { waiting: 0, oldestAt: null };
    return { waiting: integer(row, waitingAt.count), oldestAt: integerOrNull(row, waitingAt.oldest) };
  }

  #count(statement: string, hook: string, most: number): number {
    const row = this.#sql.get(statement, hook, most);
    return row === undefined ? 0 : integer(row, countAt.count);
  }
}

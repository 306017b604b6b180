import type { StoredDelivery } from "../../task/delivery.ts";
import type { Outbox, WaitingDeliveries } from "../outbox.ts";
import { columnsOf, integerOrNull, text } from "../row.ts";
import { toStored } from "../stored-text.ts";
import { deliveriesIn, failureIn } from "../tables/tables.ts";
import type { Database } from "./database.ts";
import type { Names } from "./names.ts";
import { outboxStatements, type OutboxStatements } from "./outbox-sql.ts";

const dueAt = columnsOf(["due_at"]);

const oldestAt = columnsOf(["count", "oldest"]);

const hookAt = columnsOf(["hook"]);

/** The reads of webhook messages. */
export class PostgresOutbox implements Outbox {
  readonly #sql: OutboxStatements;
  readonly #open: () => { readonly database: Pick<Database, "read"> };

  constructor(names: Names, open: () => { readonly database: Pick<Database, "read"> }) {
    this.#sql = outboxStatements(names);
    this.#open = open;
  }

  async nextDueAt(hook: string): Promise<number | null> {
    const [row] = await this.#open().database.read(this.#sql.nextDue, [hook]);
    return row === undefined ? null : integerOrNull(row, dueAt.due_at);
  }

  async counts(most: number): Promise<readonly WaitingDeliveries[]> {
    const { database } = this.#open();
    const hooks = (await database.read(this.#sql.hooks)).map((row) => text(row, hookAt.hook));
    return Promise.all(
      hooks.map(async (hook): Promise<WaitingDeliveries> => {
        const [[waiting], [givenUp], [failure]] = await Promise.all([
          database.read(this.#sql.countWaiting, [hook, most]),
          database.read(this.#sql.countGivenUp, [hook, most]),
          database.read(this.#sql.lastFailure, [hook]),
        ]);
        return {
          hook,
          waiting: Number(waiting?.[0] ?? 0),
          oldestAt: waiting === undefined ? null : integerOrNull(waiting, oldestAt.oldest),
          givenUp: Number(givenUp?.[0] ?? 0),
          lastFailure: failureIn(failure),
        };
      }),
    );
  }

  async ofTask(taskId: string, lookedThrough: number): Promise<readonly StoredDelivery[]> {
    const { database } = this.#open();
    return deliveriesIn(await database.read(this.#sql.ofTask, [toStored(taskId), lookedThrough]));
  }
}

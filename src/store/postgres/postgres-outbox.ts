import {
  deliveriesIn,
  deliveryFailure,
  deliveryTable,
  failureIn,
  knownDeliveries,
} from "../tables/tables.ts";
import type { Names } from "./names.ts";
import type { StoredDelivery } from "../../task/delivery.ts";
import type { Outbox, WaitingDeliveries } from "../outbox.ts";
import { columnsOf, integerOrNull, text, toStored } from "../row.ts";
import type { Database, Queries } from "./database.ts";
import { applyLimit, type LimitApplied, limitPlaceOf, limitSql, limitTables } from "../limit-sql.ts";
import type { LimitAnswer, LimitCall, LimitPlace, LimitStore } from "../limits.ts";
import type { TaskChange } from "../store.ts";
import type { Owners } from "./ownership.ts";
import { storeFailed } from "./postgres-error.ts";

/** Reads webhook messages. */
export function outboxStatements({ delivery }: Names) {
  const all = deliveryTable.list();
  const counted = (of: string): string =>
    `SELECT count(*)::int FROM (SELECT 1 FROM ${delivery} WHERE hook = $1 AND due_at ${of} LIMIT $2) AS counted`;
  return {
    /** Skips those that others are taking. */
    lockDue: `SELECT ${all} FROM ${delivery} WHERE hook = $1 AND due_at <= $2 AND ${knownDeliveries}
      ORDER BY due_at, seq LIMIT $3 FOR UPDATE SKIP LOCKED`,
    lockLater: `SELECT ${all} FROM ${delivery} WHERE hook = $1 AND due_at > $2 AND ${knownDeliveries}
      ORDER BY due_at, seq LIMIT $3 FOR UPDATE SKIP LOCKED`,
    lockGivenUp: `SELECT ${all} FROM ${delivery} WHERE hook = $1 AND due_at IS NULL AND ${knownDeliveries}
      ORDER BY due_at, seq LIMIT $2 FOR UPDATE SKIP LOCKED`,
    /** Among the oldest ones: those before a time, and those beyond the newest so many. */
    excess: `SELECT seq FROM (SELECT seq, at FROM ${delivery} ORDER BY seq LIMIT $3) AS oldest
      WHERE at < $1 OR seq <= coalesce((SELECT seq FROM ${delivery} ORDER BY seq DESC LIMIT 1 OFFSET $2), -1)`,
    nextDue: `SELECT due_at FROM ${delivery} WHERE hook = $1 AND due_at IS NOT NULL AND ${knownDeliveries} ORDER BY due_at LIMIT 1`,
    /** Step by step: each step seeks the next name. */
    hooks: `WITH RECURSIVE named AS (
      (SELECT hook FROM ${delivery} ORDER BY hook LIMIT 1)
      UNION ALL
      SELECT next.hook FROM named CROSS JOIN LATERAL (
        SELECT hook FROM ${delivery} WHERE hook > named.hook ORDER BY hook LIMIT 1) AS next
    ) SELECT hook FROM named`,
    countWaiting: `SELECT count(*)::int, min(at) FROM (
      SELECT at FROM ${delivery} WHERE hook = $1 AND due_at IS NOT NULL ORDER BY due_at LIMIT $2) AS counted`,
    countGivenUp: counted("IS NULL"),
    /** For a task, among the newest ones. */
    ofTask: `SELECT ${all} FROM ${delivery}
      WHERE seq > coalesce((SELECT seq FROM ${delivery} ORDER BY seq DESC LIMIT 1 OFFSET $2), -1) AND task_id = $1 ORDER BY seq`,
    before: `SELECT ${all} FROM ${delivery} WHERE seq < $1 AND ${knownDeliveries} ORDER BY seq DESC LIMIT $2`,
    lastFailure: `SELECT ${deliveryFailure.list()} FROM ${delivery} WHERE hook = $1 AND failed_at IS NOT NULL
      ORDER BY failed_at DESC LIMIT 1`,
  };
}

export type OutboxStatements = ReturnType<typeof outboxStatements>;

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

  async before(seq: number, limit: number): Promise<readonly StoredDelivery[]> {
    const { database } = this.#open();
    return deliveriesIn(await database.read(this.#sql.before, [seq, limit]));
  }
}

/** What limits need from an open store. */
interface LimitParts {
  readonly database: Pick<Database, "read">;
  readonly owner: string;
  readonly owners: Pick<Owners, "writeInSteps">;
}

export function limitSchema({ limitLine, limitPlace }: Names): string {
  return limitTables(
    { line: limitLine, place: limitPlace },
    {
      integer: "bigint",
      text: 'text COLLATE "C"',
      serial: "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
      options: " WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500)",
    },
  );
}

/** Their times are those of the database: the clocks of machines differ. */
export function limitStatements({ limitLine, limitPlace, task, owner }: Names) {
  return limitSql({
    line: limitLine,
    place: limitPlace,
    task,
    owner,
    now: "(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
    unlocked: " FOR UPDATE SKIP LOCKED",
  });
}

export class PostgresLimits implements LimitStore {
  readonly #sql: ReturnType<typeof limitStatements>;
  /** Throws `store_closed` unless the store is open. */
  readonly #open: () => LimitParts;
  /** Is told of the tasks of other processes that got a permit. */
  readonly #publish: (changes: readonly TaskChange[]) => void;

  constructor(names: Names, open: () => LimitParts, publish: (changes: readonly TaskChange[]) => void) {
    this.#sql = limitStatements(names);
    this.#open = open;
    this.#publish = publish;
  }

  async call(call: LimitCall): Promise<LimitAnswer> {
    const { owner, owners } = this.#open();
    const { answer, others } = await owners
      .writeInSteps((queries) => this.#apply(queries, owner, call))
      .catch((error: unknown) => {
        throw storeFailed(error);
      });
    if (others.length > 0) this.#publish(others.map((id) => ({ id, version: 0 })));
    return answer;
  }

  async ofTask(taskId: string): Promise<readonly LimitPlace[]> {
    return (await this.#open().database.read(this.#sql.ofTask, [toStored(taskId)])).map(limitPlaceOf);
  }

  async #apply(queries: Queries, owner: string, call: LimitCall): Promise<LimitApplied> {
    const steps = applyLimit(this.#sql, owner, call);
    for (let step = steps.next(); ;) {
      if (step.done === true) return step.value;
      const { sql, values } = step.value;
      step = steps.next(await queries.query(sql, values));
    }
  }
}

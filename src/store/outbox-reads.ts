import { formsOf, type Read, type Reading, rowOf, rowsOf, type Tables } from "./dialect.ts";
import type { DeliveryQuery, Outbox, WaitingDeliveries } from "./outbox.ts";
import { columnsOf, integer, integerOrNull, text, textOrNull, toStored } from "./row.ts";
import type { Dialect } from "./tables/table.ts";
import { deliveriesIn, deliveryTable, knownDeliveries } from "./tables/tables.ts";

/** The reads of webhook messages. Those for commands lock what they find. */
export function outboxSql({ delivery }: Tables, dialect: Dialect) {
  const { either, by, atMost, locked, each } = formsOf(dialect);
  const all = deliveryTable.list();
  const due = by("delivery_due");
  const ofHook = (at: string, limit: number): string => `SELECT ${all} FROM ${delivery}${due}
    WHERE hook = $1 AND due_at ${at} AND ${knownDeliveries} ORDER BY due_at, seq ${atMost(limit)}${locked}`;
  /** That of the message before the newest so many. */
  const before = (parameter: number): string =>
    `coalesce((SELECT seq FROM ${delivery} ORDER BY seq DESC LIMIT 1 OFFSET $${parameter}${either(" + 0", "")}), -1)`;
  return {
    lockDue: ofHook("<= $2", 3),
    lockLater: ofHook("> $2", 3),
    lockGivenUp: ofHook("IS NULL", 2),
    /** Among the oldest ones: those before a time, and those beyond the newest so many. */
    excess: `SELECT seq FROM (SELECT seq, at FROM ${delivery} ORDER BY seq ${atMost(3)}) AS oldest
      WHERE at < $1 OR seq <= ${before(2)}`,
    nextDue: `SELECT due_at FROM ${delivery}${due} WHERE hook = $1 AND due_at IS NOT NULL AND ${knownDeliveries} ORDER BY due_at LIMIT 1`,
    hooks: each("hook", `${delivery}${due}`),
    counts: `SELECT waiting.count, waiting.oldest, given_up.count, failed_at, problem
      FROM (SELECT count(*) AS count, min(at) AS oldest FROM (
          SELECT at FROM ${delivery}${due} WHERE hook = $1 AND due_at IS NOT NULL ORDER BY due_at ${atMost(2)}) AS first) AS waiting
      CROSS JOIN (SELECT count(*) AS count FROM (
          SELECT 1 FROM ${delivery}${due} WHERE hook = $1 AND due_at IS NULL ${atMost(2)}) AS kept) AS given_up
      LEFT JOIN (SELECT failed_at, problem FROM ${delivery}${by("delivery_failed")}
          WHERE hook = $1 AND failed_at IS NOT NULL ORDER BY failed_at DESC LIMIT 1) AS failure ON true`,
    /** For a task, among the newest ones. */
    ofTask: `SELECT ${all} FROM ${delivery} WHERE seq > ${before(2)} AND task_id = $1 ORDER BY seq`,
    before: `SELECT ${all} FROM ${delivery} WHERE seq < $1 AND ${knownDeliveries} ORDER BY seq DESC ${atMost(2)}`,
  };
}

export type OutboxSql = ReturnType<typeof outboxSql>;

const dueAt = columnsOf(["due_at"]);
const hookAt = columnsOf(["hook"]);
const countsAt = columnsOf(["waiting", "oldest", "givenUp", "failedAt", "problem"]);

export function dueDeliveries(
  sql: Pick<OutboxSql, "lockDue" | "lockLater" | "lockGivenUp">,
  { hook, now, later, limit }: DeliveryQuery,
): { readonly sql: string; readonly values: readonly (string | number)[] } {
  if (now === null) return { sql: sql.lockGivenUp, values: [hook, limit] };
  return { sql: later === true ? sql.lockLater : sql.lockDue, values: [hook, now, limit] };
}

export function outboxReads(sql: OutboxSql, read: Read): Outbox {
  return {
    nextDueAt: async (hook) =>
      (await read(() => rowOf(sql.nextDue, [hook], (row) => integerOrNull(row, dueAt.due_at)))) ?? null,
    counts: (most) => read(() => waitingDeliveries(sql, most)),
    ofTask: async (taskId, lookedThrough) =>
      deliveriesIn(await read(() => rowsOf(sql.ofTask, [toStored(taskId), lookedThrough], (row) => row))),
    before: async (seq, limit) =>
      deliveriesIn(await read(() => rowsOf(sql.before, [seq, limit], (row) => row))),
  };
}

function* waitingDeliveries(sql: OutboxSql, most: number): Reading<WaitingDeliveries[]> {
  const counts: WaitingDeliveries[] = [];
  for (const named of yield { sql: sql.hooks, values: [] }) {
    const hook = text(named, hookAt.hook);
    const [row = []] = yield { sql: sql.counts, values: [hook, most] };
    const failedAt = integerOrNull(row, countsAt.failedAt);
    counts.push({
      hook,
      waiting: integer(row, countsAt.waiting),
      oldestAt: integerOrNull(row, countsAt.oldest),
      givenUp: integer(row, countsAt.givenUp),
      lastFailure:
        failedAt === null ? null : { at: failedAt, problem: textOrNull(row, countsAt.problem) ?? "" },
    });
  }
  return counts;
}

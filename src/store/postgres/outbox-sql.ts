import { insertRows } from "../tables/postgres-statements.ts";
import { deliveryTable, deliveryFailure, knownDeliveries } from "../tables/tables.ts";
import type { Names } from "./names.ts";

/** Writes, many at a time, and reads webhook messages. */
export function outboxStatements({ delivery }: Names) {
  const all = deliveryTable.list();
  const counted = (of: string): string =>
    `SELECT count(*)::int FROM (SELECT 1 FROM ${delivery} WHERE hook = $1 AND due_at ${of} LIMIT $2) AS counted`;
  return {
    insertDeliveries: insertRows(deliveryTable, delivery),
    takeDeliveries: `UPDATE ${delivery} SET due_at = taken.until, tries = tries + 1
      FROM unnest($1::bigint[], $2::bigint[]) AS taken (seq, until) WHERE delivery.seq = taken.seq`,
    retryDeliveries: `UPDATE ${delivery} SET due_at = again.due_at, failed_at = coalesce(again.failed_at, delivery.failed_at),
        problem = coalesce(again.problem, delivery.problem), tries = delivery.tries - again.unsent
      FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[])
        AS again (seq, tries, due_at, failed_at, problem, unsent)
      WHERE delivery.seq = again.seq AND delivery.tries = again.tries`,
    resendDeliveries: `UPDATE ${delivery} SET due_at = again.due_at
      FROM unnest($1::bigint[], $2::bigint[]) AS again (seq, due_at) WHERE delivery.seq = again.seq`,
    endDeliveries: `DELETE FROM ${delivery} USING unnest($1::bigint[], $2::bigint[]) AS ended (seq, tries)
      WHERE delivery.seq = ended.seq AND delivery.tries = ended.tries`,
    dropDeliveries: `DELETE FROM ${delivery} WHERE seq = ANY($1::bigint[])`,
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
    lastFailure: `SELECT ${deliveryFailure.list()} FROM ${delivery} WHERE hook = $1 AND failed_at IS NOT NULL
      ORDER BY failed_at DESC LIMIT 1`,
  };
}

export type OutboxStatements = ReturnType<typeof outboxStatements>;

import type { Names } from "./names.ts";

/** Statements about the committed transactions of an owner. */
export function commitStatements({ committed }: Names) {
  return {
    mark: `INSERT INTO ${committed} (owner, xid) VALUES ($1, $2)`,
    unmark: `DELETE FROM ${committed} WHERE owner = $1 AND xid = ANY($2::bigint[])`,
    isMarked: `SELECT 1 FROM ${committed} WHERE owner = $1 AND xid = $2`,
    isUnderWay: `SELECT 1 FROM pg_locks WHERE locktype = 'transactionid' AND transactionid = ($1::text::xid8)::xid
      AND mode = 'ExclusiveLock' AND granted`,
  };
}

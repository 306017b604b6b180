import type { Names } from "./names.ts";

/**
 * Whether an owner lives, by the database's clock: its lease is valid, or the database was down for so long that no lease could be renewed.
 * An owner that has closed its store has no lease.
 */
export const ownerLives = (lease: string): string => `retired = 0 AND (lease_until >= clock_timestamp() OR
  (lease_until > '-infinity' AND pg_postmaster_start_time() > clock_timestamp() - ${lease} * interval '1 ms'))`;

/** The processes that have a schema open, for messages. */
export function living({ owner }: Names): string {
  return `SELECT pid, host, since::text FROM ${owner} WHERE ${ownerLives("$1::float8")} ORDER BY since`;
}

const until = (lease: string): string => `clock_timestamp() + ${lease} * interval '1 ms'`;

/** Statements about the processes that have the store open. */
export function ownerStatements({ owner, committed, task, message, pausedTool }: Names) {
  return {
    /** All writers of this owner hold it as a shared lock; others lock it exclusively to declare the owner dead. */
    lockShared: `SELECT pg_advisory_xact_lock_shared(hashtextextended(name, 0)) FROM unnest($1::text[]) AS name`,
    lockAlone: `SELECT pg_advisory_xact_lock(hashtextextended(name, 0)) FROM unnest($1::text[]) AS name`,
    /** The transaction id, if the owner may write. */
    fence: `SELECT pg_current_xact_id()::text FROM ${owner} WHERE id = $1 AND retired = 0`,
    register: `INSERT INTO ${owner} (id, pid, host, since, handlers, lease_until)
      VALUES ($1, $2, $3, clock_timestamp(), $4, ${until("$5::float8")})
      ON CONFLICT (id) DO UPDATE SET retired = 0, handlers = excluded.handlers, lease_until = excluded.lease_until`,
    setHandlers: `UPDATE ${owner} SET handlers = $2 WHERE id = $1`,
    renew: `UPDATE ${owner} SET lease_until = ${until("$2::float8")} WHERE id = $1 AND retired = 0
      RETURNING (extract(epoch FROM clock_timestamp()) * 1000)::bigint`,
    /** Ends the lease at once. */
    leave: `UPDATE ${owner} SET lease_until = '-infinity' WHERE id = $1`,
    all: `SELECT id, handlers, retired, CASE WHEN ${ownerLives("$1::float8")} THEN 1 ELSE 0 END FROM ${owner}`,
    paused: `SELECT tool FROM ${pausedTool} ORDER BY tool`,
    retire: `UPDATE ${owner} SET retired = 1 WHERE id = $1`,
    deleteMessages: `DELETE FROM ${message} WHERE owner = $1`,
    unmarkCommits: `DELETE FROM ${committed} WHERE owner = $1`,
    /** Not while a task that it ran may still have to be returned: a due cancel can be withdrawn. */
    forget: `DELETE FROM ${owner} WHERE id = $1 AND NOT EXISTS (
      SELECT 1 FROM ${task} WHERE task.state = 'running' AND task.owner = $1
        AND (sweep_at IS NULL OR sweep_at > $2 OR cancel_by IS NOT NULL))`,
  };
}

export type OwnerStatements = ReturnType<typeof ownerStatements>;

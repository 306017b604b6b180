import type { Names } from "./names.ts";
import { isReady as ready, isTried, recordList } from "../tables/task.ts";

export function claimStatements({ schema, task, owner }: Names) {
  const principalOf = (after: string): string => `(SELECT coalesce(principal, '') FROM ${task}
    WHERE ${ready} AND task.owner = line.owner AND task.method = line.method AND task.tool = line.tool AND ${after}
    ORDER BY coalesce(principal, '') LIMIT 1)`;
  return {
    /**
     * For each of these handlers and each owner whose tasks may be claimed (not those of another living owner that has the handler): the
     * principals after the one with the last turn, and the first ones; for each of their lanes the first tasks. One seek for each of these,
     * however many tasks there are. It walks the lines that exist, not all handlers of all owners: of these, Postgres would expect so many
     * rows that it compiles the statement before it runs it.
     */
    heads: `WITH RECURSIVE handler (method, tool, after, text) AS (
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $8::text[])),
      existing (owner, method, tool) AS (
        (SELECT owner, method, tool FROM ${task} WHERE ${ready} ORDER BY owner, method, tool LIMIT 1)
        UNION ALL
        SELECT next.owner, next.method, next.tool FROM existing CROSS JOIN LATERAL (
          SELECT owner, method, tool FROM ${task} WHERE ${ready}
            AND (task.owner, task.method, task.tool) > (existing.owner, existing.method, existing.tool)
          ORDER BY owner, method, tool LIMIT 1) AS next),
      line AS (
        SELECT existing.*, handler.after FROM existing JOIN handler USING (method, tool)
        WHERE existing.owner = '' OR existing.owner = $4
          OR NOT EXISTS (SELECT 1 FROM ${owner} AS other WHERE other.id = existing.owner AND other.retired = 0
            AND position(handler.text IN other.handlers) > 0)),
      principal (owner, method, tool, name, place) AS (
        SELECT owner, method, tool, ${principalOf("coalesce(principal, '') >= ''")}, 1 FROM line
        UNION ALL
        SELECT owner, method, tool, ${principalOf("coalesce(principal, '') > line.after")}, 1 FROM line
        WHERE line.after IS NOT NULL
        UNION ALL
        SELECT owner, method, tool, ${principalOf("coalesce(principal, '') > line.name")}, line.place + 1
        FROM principal AS line WHERE line.name IS NOT NULL AND line.place <= $5)
      SELECT line.owner, line.method, line.tool, line.name, lane.name, head.id, head.run_after
      FROM (SELECT DISTINCT owner, method, tool, name FROM principal WHERE name IS NOT NULL) AS line
      CROSS JOIN unnest(ARRAY['new', 'woken', 'recovered', 'suspect']) AS lane (name)
      CROSS JOIN LATERAL (
        SELECT id, run_after FROM ${task}
        WHERE ${ready} AND task.owner = line.owner AND task.method = line.method AND task.tool = line.tool
          AND coalesce(principal, '') = line.name AND task.lane = lane.name AND task.id <> ALL($6::text[])
        ORDER BY run_after, id LIMIT $7) AS head`,
    /** Skips tasks that are gone, or being taken. */
    lock: `SELECT ${recordList()} FROM ${task} WHERE id = ANY($1::text[]) AND ${ready} ORDER BY id FOR UPDATE SKIP LOCKED`,
    /** Whether this transaction is the only one that may take a suspect. */
    lockSuspects: `SELECT pg_try_advisory_xact_lock(hashtextextended('${schema} suspects', 0))::int`,
    tried: `SELECT 1 FROM ${task} WHERE ${isTried} AND waiting = 0 LIMIT 1`,
    countLimited: `SELECT task.method, task.tool, count(*)
      FROM unnest($1::text[], $2::text[]) AS handler (method, tool)
      JOIN ${task} ON task.method = handler.method AND task.tool = handler.tool AND state = 'running' AND limited = 1
      GROUP BY task.method, task.tool`,
  };
}

export type ClaimStatements = ReturnType<typeof claimStatements>;

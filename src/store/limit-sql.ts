/** The tables and statements of named limits, for both dialects. */

import { columnsOf } from "./row.ts";

/** What differs between the dialects. */
export interface LimitDialect {
  readonly line: string;
  readonly place: string;
  readonly task: string;
  readonly owner: string;
  /** The database's clock (epoch ms), or NULL. */
  readonly now: string;
  /** Leaves out rows that another transaction has locked. */
  readonly unlocked: string;
}

/**
 * `limit_line` has a row for each limit: the ticket of the last permit, and until when there are none. `limit_place` has those who wait
 * (`away`: without an attempt now), those with a permit (`granted`: its process does not know yet), and who started within the last minute
 * (`past`). They are in neither dump nor backup: whoever waits asks again.
 */
export function limitTables(
  { line, place }: Pick<LimitDialect, "line" | "place">,
  { integer, text, serial, options }: Readonly<Record<"integer" | "text" | "serial" | "options", string>>,
): string {
  const int = `${integer} NOT NULL`;
  const words = `${text} NOT NULL`;
  return `
CREATE TABLE ${line} (
  name ${text} PRIMARY KEY,
  ticket ${int},
  paused_until ${int},
  last_at ${int}
)${options};

CREATE TABLE ${place} (
  seq ${serial},
  name ${words},
  task_id ${words},
  entry ${words},
  token ${words},
  owner ${words},
  turn_of ${words},
  ticket ${int},
  phase ${words},
  since ${int},
  lives_on ${int}
)${options};
CREATE INDEX limit_line_last ON ${line} (last_at);
CREATE INDEX limit_place_task ON ${place} (task_id, name, entry);
CREATE INDEX limit_place_phase ON ${place} (name, phase, ticket, seq);
CREATE INDEX limit_place_turn ON ${place} (name, turn_of, ticket) WHERE ${waits};
CREATE INDEX limit_place_start ON ${place} (name, since) WHERE ${started};
CREATE INDEX limit_place_past ON ${place} (since) WHERE phase = 'past';
`;
}

const waits = "phase IN ('waiting', 'away')";
const holds = "phase IN ('granted', 'running')";
const started = "phase IN ('granted', 'running', 'past')";

export const lineAt = columnsOf(["ticket", "paused_until", "last_at", "now"]);
export const placeAt = columnsOf(["seq", "task_id", "entry", "token", "owner", "phase", "ticket", "is_live"]);
export const startsAt = columnsOf(["count", "oldest"]);
export const countAt = columnsOf(["count"]);
export const listedAt = columnsOf(["task_id", "name", "entry", "phase", "since"]);

export function limitSql({ line, place, task, owner, now, unlocked }: LimitDialect) {
  const ofTask = `SELECT 1 FROM ${task} AS task WHERE task.id = limit_place.task_id AND task.state`;
  const live = `(limit_place.token = '' AND EXISTS (
      SELECT 1 FROM ${owner} AS owner WHERE owner.id = limit_place.owner AND owner.retired = 0)
    OR EXISTS (${ofTask} = 'running' AND task.token = limit_place.token))`;
  const unfinished = `EXISTS (${ofTask} IN ('queued', 'running'))`;
  const columns = `seq, task_id, entry, token, owner, phase, ticket, CASE WHEN ${live} THEN 1 ELSE 0 END`;
  const own = "name = $1 AND task_id = $2 AND entry = $3";
  return {
    /** Whoever has it decides alone about the limit. */
    lock: `INSERT INTO ${line} (name, ticket, paused_until, last_at) VALUES ($1, 0, 0, 0)
      ON CONFLICT (name) DO UPDATE SET ticket = limit_line.ticket RETURNING ticket, paused_until, last_at, ${now}`,
    save: `UPDATE ${line} SET ticket = $2, paused_until = $3, last_at = $4 WHERE name = $1`,
    end: `UPDATE ${place} SET phase = 'past' WHERE ${own} AND token = $4 AND phase = 'running'`,
    leave: `DELETE FROM ${place} WHERE ${own} AND token = $4 AND phase IN ('waiting', 'away', 'granted')`,
    endDead: `UPDATE ${place} SET phase = 'past' WHERE name = $1 AND ${holds}
      AND NOT (${live} OR lives_on = 1 AND ${unfinished})`,
    find: `SELECT ${columns} FROM ${place} WHERE ${own} AND phase <> 'past'`,
    /** Behind the last one of the same principal; for a principal without any, next. */
    join: `INSERT INTO ${place} (name, task_id, entry, token, owner, turn_of, lives_on, since, ticket, phase)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, coalesce(
        (SELECT max(ticket) FROM ${place} WHERE name = $1 AND turn_of = $6 AND ${waits} AND ticket > $9), $9) + 1, 'waiting')`,
    rejoin: `UPDATE ${place} SET token = $2, owner = $3, phase = 'waiting' WHERE seq = $1`,
    /** From now on it counts as started. */
    take: `UPDATE ${place} SET token = $2, owner = $3, since = $4, phase = 'running' WHERE seq = $1`,
    grant: `UPDATE ${place} SET since = $2, phase = $3 WHERE seq = $1`,
    putAside: `UPDATE ${place} SET phase = 'away' WHERE seq = $1`,
    countHeld: `SELECT count(*) FROM ${place} WHERE name = $1 AND ${holds}`,
    starts: `SELECT count(*), min(since) FROM (
      SELECT since FROM ${place} WHERE name = $1 AND since > $2 AND ${started} ORDER BY since DESC LIMIT $3) AS recent`,
    waiting: `SELECT ${columns} FROM ${place} WHERE name = $1 AND phase = 'waiting' ORDER BY ticket, seq LIMIT $2`,
    granted: `SELECT ${columns} FROM ${place} WHERE name = $1 AND phase = 'granted' AND limit_place.owner = $2`,
    countOwn: `SELECT count(*) FROM ${place} WHERE name = $1 AND phase = 'waiting' AND limit_place.owner = $2`,
    deleteEnded: `DELETE FROM ${place} WHERE name = $1 AND phase = 'away' AND NOT ${unfinished}`,
    deletePast: `DELETE FROM ${place} WHERE seq IN (
      SELECT seq FROM ${place} WHERE phase = 'past' AND since <= $1 ORDER BY since LIMIT 1000${unlocked})`,
    deleteLines: `DELETE FROM ${line} WHERE name IN (
      SELECT name FROM ${line} WHERE name <> $2 AND last_at < $1 AND paused_until < $1
        AND NOT EXISTS (SELECT 1 FROM ${place} WHERE limit_place.name = limit_line.name) ORDER BY last_at LIMIT 100${unlocked})`,
    ofTask: `SELECT task_id, name, entry, phase, since FROM ${place} WHERE task_id = $1 AND phase <> 'past' ORDER BY name, entry`,
    deleteOfTask: `DELETE FROM ${place} WHERE task_id = $1`,
  };
}

export type LimitSql = ReturnType<typeof limitSql>;

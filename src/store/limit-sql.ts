import { formsOf, type Reading, rowsOf, type Read, type Tables } from "./dialect.ts";
import type { Dialect } from "./tables/table.ts";
import { columnsOf, integer, integerOrNull, type Row, text, toStored } from "./row.ts";
import type { LimitAnswer, LimitCall, LimitHolder, LimitJoin, LimitPlace } from "./limits.ts";

/** The tables and statements of named limits, for both dialects. */

/**
 * `limit_line` has a row for each limit: the ticket of the last permit, and until when there are none. `limit_place` has those who wait
 * (`away`: without an attempt now), those with a permit (`granted`: its process does not know yet), and who started within the last minute
 * (`past`). They are in neither dump nor backup: whoever waits asks again.
 */
export function limitTables(
  { limitLine: line, limitPlace: place }: Tables,
  {
    integer: integerType,
    text: textType,
    serial,
    options,
  }: Readonly<Record<"integer" | "text" | "serial" | "options", string>>,
): string {
  const int = `${integerType} NOT NULL`;
  const words = `${textType} NOT NULL`;
  return `
CREATE TABLE ${line} (
  name ${textType} PRIMARY KEY,
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
CREATE INDEX limit_place_start ON ${place} (name, since) WHERE ${isStarted};
CREATE INDEX limit_place_past ON ${place} (since) WHERE phase = 'past';
`;
}

const waits = "phase IN ('waiting', 'away')";
const holds = "phase IN ('granted', 'running')";
const isStarted = "phase IN ('granted', 'running', 'past')";

const lineAt = columnsOf(["ticket", "paused_until", "last_at", "now"]);
const placeAt = columnsOf(["seq", "task_id", "entry", "token", "owner", "phase", "ticket", "is_live"]);
const startsAt = columnsOf(["count", "oldest"]);
const countAt = columnsOf(["count"]);
const listedAt = columnsOf(["task_id", "name", "entry", "phase", "since"]);

export function limitSql({ limitLine: line, limitPlace: place, task, owner }: Tables, dialect: Dialect) {
  const { either, locked } = formsOf(dialect);
  /** Postgres has a clock of its own: those of machines differ. */
  const now = either("NULL", "(extract(epoch FROM clock_timestamp()) * 1000)::bigint");
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
    /** Moves its times back. */
    setBack: `UPDATE ${place} SET since = since - $2 WHERE name = $1`,
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
      SELECT since FROM ${place} WHERE name = $1 AND since > $2 AND ${isStarted} ORDER BY since DESC LIMIT $3) AS recent`,
    waiting: `SELECT ${columns} FROM ${place} WHERE name = $1 AND phase = 'waiting' ORDER BY ticket, seq LIMIT $2`,
    granted: `SELECT ${columns} FROM ${place} WHERE name = $1 AND phase = 'granted' AND limit_place.owner = $2`,
    countOwn: `SELECT count(*) FROM ${place} WHERE name = $1 AND phase = 'waiting' AND limit_place.owner = $2`,
    deleteEnded: `DELETE FROM ${place} WHERE name = $1 AND phase = 'away' AND NOT ${unfinished}`,
    deletePast: `DELETE FROM ${place} WHERE seq IN (
      SELECT seq FROM ${place} WHERE phase = 'past' AND since <= $1 ORDER BY since LIMIT 1000${locked})`,
    deleteLines: `DELETE FROM ${line} WHERE name IN (
      SELECT name FROM ${line} WHERE name <> $2 AND last_at < $1 AND paused_until < $1
        AND NOT EXISTS (SELECT 1 FROM ${place} WHERE limit_place.name = limit_line.name) ORDER BY last_at LIMIT 100${locked})`,
    ofTask: `SELECT task_id, name, entry, phase, since FROM ${place} WHERE task_id = $1 AND phase <> 'past' ORDER BY name, entry`,
  };
}

type LimitSql = ReturnType<typeof limitSql>;

/**
 * What becomes of a call about a limit. One call at a time decides about a limit, and each for the processes of all.
 * - A permit counts as started from when its process learns of it, and not before: until then it counts twice, as running and as started.
 * - No window of `windowMs` has more starts than the limit allows: starts are counted by their times, also those whose process has died.
 *   Where the clock was set back, the last call before that counts as one of now. Where it was set ahead, which a process knows that has seen
 *   it, starts before that are as long ago as they were.
 * - Principals take turns by tickets: each one's next place is one after its last, or one after the last permit of all.
 */

export interface LimitApplied {
  readonly answer: LimitAnswer;
  /** The tasks of other processes that got a permit. */
  readonly others: readonly string[];
}

/** How much is cleaned up, and how seldom. */
const cleaningMs = 60_000;

/** By so much, times of processes may differ that ask at once (ms). */
const disorderMs = 5_000;

/** How long a limit that nobody uses is remembered. */
const keptMs = 3_600_000;

/** The statements of a call, in order; a store runs them in one transaction. */
export function* applyLimit(sql: LimitSql, owner: string, call: LimitCall): Reading<LimitApplied> {
  const name = toStored(call.name);
  const { windowMs } = call;
  const [line = []] = yield { sql: sql.lock, values: [name] };
  const lastAt = integer(line, lineAt.last_at);
  const told = integerOrNull(line, lineAt.now) ?? call.now;
  // Negative if it was set ahead since the last call.
  const setBackMs = lastAt - told > disorderMs ? lastAt - told : -setAheadSince(lastAt, told, call);
  if (setBackMs !== 0) yield { sql: sql.setBack, values: [name, setBackMs] };
  const now = Math.max(told, lastAt - setBackMs);
  const pausedUntil = Math.max(integer(line, lineAt.paused_until) - setBackMs, now + (call.pauseMs ?? 0));
  let ticket = integer(line, lineAt.ticket);

  for (const { taskId, entry, token } of call.leaves) {
    const values = [name, toStored(taskId), toStored(entry), token];
    yield { sql: sql.end, values };
    yield { sql: sql.leave, values };
  }
  yield { sql: sql.endDead, values: [name] };
  if (Math.floor(now / cleaningMs) !== Math.floor(lastAt / cleaningMs)) {
    yield { sql: sql.deleteEnded, values: [name] };
    const { before = now, after = 0 } = call.setAhead ?? {};
    yield { sql: sql.deletePast, values: [(now - after < windowMs ? before : now) - windowMs] }; // of all limits
    yield { sql: sql.deleteLines, values: [now - keptMs, name] };
  }

  const granted: LimitHolder[] = [];
  for (const row of yield { sql: sql.granted, values: [name, owner] }) {
    const held = holderOf(row);
    yield { sql: sql.take, values: [integer(row, placeAt.seq), held.token, owner, now] };
    granted.push(held);
  }
  for (const join of call.joins) {
    const took = yield* joined(sql, name, owner, join, now, ticket);
    if (took) granted.push({ taskId: join.taskId, entry: join.entry, token: join.token });
  }

  const [held = []] = call.concurrency === null ? [] : yield { sql: sql.countHeld, values: [name] };
  const [recent = []] =
    call.starts === null ? [] : yield { sql: sql.starts, values: [name, now - windowMs, call.starts] };
  const started = call.starts === null ? 0 : integer(recent, startsAt.count);
  const places = call.concurrency === null ? Infinity : call.concurrency - integer(held, countAt.count);
  const starts = call.starts === null ? Infinity : call.starts - started;
  let room = pausedUntil > now ? 0 : Math.min(places, starts);

  const others: string[] = [];
  let given = 0;
  while (room > 0) {
    const limit = Math.min(room, 100);
    const rows = yield { sql: sql.waiting, values: [name, limit] };
    for (const row of rows) {
      const seq = integer(row, placeAt.seq);
      if (integer(row, placeAt.is_live) === 0) {
        yield { sql: sql.putAside, values: [seq] };
        continue;
      }
      const isOwn = text(row, placeAt.owner) === owner;
      yield { sql: sql.grant, values: [seq, now, isOwn ? "running" : "granted"] };
      const holder = holderOf(row);
      if (isOwn) granted.push(holder);
      else others.push(holder.taskId);
      ticket = Math.max(ticket, integer(row, placeAt.ticket));
      room--;
      given++;
    }
    if (rows.length < limit) break;
  }
  yield { sql: sql.save, values: [name, ticket, pausedUntil, now] };
  const [own = []] = yield { sql: sql.countOwn, values: [name, owner] };
  const waiting = integer(own, countAt.count);
  const oldest = started > 0 ? integer(recent, startsAt.oldest) : now;
  const nextStart = given >= starts ? oldest + windowMs - now : null;
  const againMs = pausedUntil > now ? pausedUntil - now : nextStart;
  return { answer: { ok: true, granted, waiting, againMs }, others };
}

function setAheadSince(lastAt: number, told: number, { setAhead }: LimitCall): number {
  if (setAhead === undefined || lastAt === 0) return 0;
  const { before, after } = setAhead;
  return lastAt <= before && told >= after ? after - before : 0;
}

/** Takes a place in line, or a permit that it has. Returns whether it has one. */
function* joined(
  sql: LimitSql,
  name: string,
  owner: string,
  { taskId, entry, token, turnOf, livesOn }: LimitJoin,
  now: number,
  ticket: number,
): Reading<boolean> {
  const values = [name, toStored(taskId), toStored(entry)];
  const [row] = yield { sql: sql.find, values };
  if (row === undefined) {
    yield { sql: sql.join, values: [...values, token, owner, turnOf, livesOn ? 1 : 0, now, ticket] };
    return false;
  }
  const seq = integer(row, placeAt.seq);
  const phase = text(row, placeAt.phase);
  if (phase === "waiting" || phase === "away") {
    yield { sql: sql.rejoin, values: [seq, token, owner] };
    return false;
  }
  yield { sql: sql.take, values: [seq, token, owner, now] };
  return true;
}

function holderOf(row: Row): LimitHolder {
  return {
    taskId: text(row, placeAt.task_id),
    entry: text(row, placeAt.entry),
    token: text(row, placeAt.token),
  };
}

export function limitPlacesOf(
  sql: Pick<LimitSql, "ofTask">,
  read: Read,
  taskId: string,
): Promise<LimitPlace[]> {
  return read(() => rowsOf(sql.ofTask, [toStored(taskId)], limitPlaceOf));
}

function limitPlaceOf(row: Row): LimitPlace {
  const phase = text(row, listedAt.phase);
  return {
    name: text(row, listedAt.name),
    taskId: text(row, listedAt.task_id),
    entry: text(row, listedAt.entry),
    isWaiting: phase === "waiting" || phase === "away",
    since: integer(row, listedAt.since),
  };
}

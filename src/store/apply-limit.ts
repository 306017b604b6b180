/**
 * What becomes of a call about a limit. One call at a time decides about a limit, and each for the processes of all.
 * - A permit counts as started from when its process learns of it, and not before: until then it counts twice, as running and as started.
 * - No window of `windowMs` has more starts than the limit allows: starts are counted by their times, also those whose process has died.
 * - Principals take turns by tickets: each one's next place is one after its last, or one after the last permit of all.
 */

import type { LimitAnswer, LimitCall, LimitHolder, LimitJoin, LimitPlace } from "./limits.ts";
import { countAt, lineAt, listedAt, placeAt, startsAt, type LimitSql } from "./limit-sql.ts";
import { integer, integerOrNull, text, type Row } from "./row.ts";
import { toStored } from "./stored-text.ts";

type Value = string | number;

/** A statement to run; its rows come back. */
export interface LimitQuery {
  readonly sql: string;
  readonly values: readonly Value[];
}

export interface LimitApplied {
  readonly answer: LimitAnswer;
  /** The tasks of other processes that got a permit. */
  readonly others: readonly string[];
}

/** How much is cleaned up, and how seldom. */
const cleaningMs = 60_000;

/** How long a limit that nobody uses is remembered. */
const keptMs = 3_600_000;

/** The statements of a call, in order; a store runs them in one transaction. */
export function* applyLimit(
  sql: LimitSql,
  owner: string,
  call: LimitCall,
): Generator<LimitQuery, LimitApplied, readonly Row[]> {
  const name = toStored(call.name);
  const { windowMs } = call;
  const [line = []] = yield { sql: sql.lock, values: [name] };
  const lastAt = integer(line, lineAt.last_at);
  const now = Math.max(integerOrNull(line, lineAt.now) ?? call.now, lastAt);
  const pausedUntil = Math.max(integer(line, lineAt.paused_until), now + (call.pauseMs ?? 0));
  let ticket = integer(line, lineAt.ticket);

  for (const { taskId, entry, token } of call.leaves) {
    const values = [name, toStored(taskId), toStored(entry), token];
    yield { sql: sql.end, values };
    yield { sql: sql.leave, values };
  }
  yield { sql: sql.endDead, values: [name] };
  if (Math.floor(now / cleaningMs) !== Math.floor(lastAt / cleaningMs)) {
    yield { sql: sql.deleteEnded, values: [name] };
    yield { sql: sql.deletePast, values: [now - windowMs] };
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

/** Takes a place in line, or a permit that it has. Returns whether it has one. */
function* joined(
  sql: LimitSql,
  name: string,
  owner: string,
  { taskId, entry, token, turnOf, livesOn }: LimitJoin,
  now: number,
  ticket: number,
): Generator<LimitQuery, boolean, readonly Row[]> {
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

export function limitPlaceOf(row: Row): LimitPlace {
  const phase = text(row, listedAt.phase);
  return {
    name: text(row, listedAt.name),
    taskId: text(row, listedAt.task_id),
    entry: text(row, listedAt.entry),
    isWaiting: phase === "waiting" || phase === "away",
    since: integer(row, listedAt.since),
  };
}

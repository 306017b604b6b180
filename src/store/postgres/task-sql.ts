import { journalEntry, keptEvent } from "../tables/of-task.ts";
import { insertRows, updateRows } from "../tables/statements.ts";
import { ofEachChange } from "../tables/writes.ts";
import { finished, unfinished as isUnfinished, isWaiting, recordList, taskTable } from "../tables/task.ts";
import type { Names } from "./names.ts";
import type { Allowance, Quota, Usage } from "../../task/queue.ts";
import type { TaskRecord } from "../../task/record.ts";
import { isTerminal } from "../../task/outcome.ts";
import { toStored } from "../row.ts";

const recordColumns = recordList();

/** The statements that write, many rows at a time, with one parameter for each column. */
export function writeStatements({ task, quoted }: Pick<Names, "task" | "quoted">) {
  return {
    insertTasks: insertRows(taskTable, task),
    /** Of these columns. */
    updateTasks: (columns: readonly string[]): string => updateRows(taskTable, task, columns),
    ...ofEachChange(({ postgres }) => postgres((table) => `${quoted}.${table}`)),
  };
}

/**
 * The statements that read what commands need to know. Those that lock take tasks in the order of their ids: ancestors before their
 * descendants.
 */
export function factStatements(names: Names) {
  const { task, journal, child, event, secret } = names;
  const entry = journalEntry.list("journal");
  return {
    /** Of the commands' tasks, those that are locked, or that have a locked relative. */
    lockedTasks: `WITH wanted (of, id) AS (
        SELECT id, id FROM unnest($1::text[]) AS id
        UNION SELECT id, parent FROM ${child} WHERE id = ANY($1::text[])
        UNION SELECT id, root FROM ${child} WHERE id = ANY($1::text[])
        UNION SELECT parent, id FROM ${child} WHERE parent = ANY($1::text[])),
      free AS (SELECT id FROM ${task} WHERE id = ANY (ARRAY(SELECT id FROM wanted)) ORDER BY id FOR UPDATE SKIP LOCKED)
      SELECT DISTINCT wanted.of FROM wanted JOIN ${task} ON task.id = wanted.id
      WHERE NOT wanted.id = ANY (ARRAY(SELECT id FROM free))`,
    /**
     * The tasks of the first list, and the ancestors of those of the second. As an array: if a row changed during the wait for its lock, a
     * join with such a list may lose it.
     */
    lockTasks: `SELECT ${recordColumns} FROM ${task} WHERE task.id = ANY (ARRAY(
        SELECT unnest($1::text[])
        UNION ALL SELECT parent FROM ${child} WHERE child.id = ANY($2::text[])
        UNION ALL SELECT root FROM ${child} WHERE child.id = ANY($2::text[])))
      ORDER BY task.id FOR UPDATE OF task`,
    lockChildren: `SELECT ${recordColumns}, child.parent FROM ${child} JOIN ${task} ON task.id = child.id
      WHERE child.parent = ANY($1::text[]) AND ${isUnfinished} ORDER BY task.id FOR UPDATE OF task`,
    endedBelow: `SELECT child.id, child.root FROM ${child} JOIN ${task} ON task.id = child.id
      WHERE child.root = ANY($1::text[]) AND ${finished}`,
    entries: `SELECT journal.task_id, ${entry}
      FROM unnest($1::text[], $2::text[]) AS wanted (task_id, key)
      JOIN ${journal} ON journal.task_id = wanted.task_id AND journal.key = wanted.key`,
    calls: `SELECT journal.task_id, ${entry} FROM ${child}
      JOIN ${journal} ON journal.task_id = child.parent AND journal.key = child.key WHERE child.id = ANY($1::text[])`,
    keyedTasks: `SELECT ${recordColumns}, wanted.principal, wanted.key FROM unnest($1::text[], $2::text[]) AS wanted (principal, key)
      JOIN ${task} ON coalesce(task.principal, '') = wanted.principal AND task.idempotency_key = wanted.key
        AND task.idempotency_key IS NOT NULL`,
    takenIds: `SELECT id FROM ${task} WHERE id = ANY($1::text[])`,
    /** A task without a wire id of its own uses its id. */
    takenWireIds: `SELECT task.generation, task.scope, task.wire_id
      FROM unnest($1::text[], $2::text[], $3::text[]) AS wanted (generation, scope, wire_id)
      JOIN ${task} ON task.generation = wanted.generation AND task.scope = wanted.scope AND task.wire_id = wanted.wire_id
        AND task.wire_id IS NOT NULL
      UNION ALL
      SELECT task.generation, task.scope, task.id
      FROM unnest($1::text[], $2::text[], $3::text[]) AS wanted (generation, scope, wire_id)
      JOIN ${task} ON task.id = wanted.wire_id AND task.generation = wanted.generation AND task.scope = wanted.scope
        AND task.wire_id IS NULL`,
    firstEvent: `SELECT ${keptEvent.list()} FROM ${event} WHERE task_id = $1 AND name = $2 AND value IS NOT NULL ORDER BY seq LIMIT 1`,
    /** The first wait whose time is not over. */
    firstEventWait: `SELECT ${entry} FROM ${journal}
      WHERE task_id = $1 AND kind = 'event' AND done_at IS NULL AND request = $2 AND (deadline_at IS NULL OR deadline_at > $3)
      ORDER BY place LIMIT 1`,
    knownEvent: `SELECT 1 FROM ${event} WHERE task_id = $1 AND dedupe_id = $2 AND dedupe_id IS NOT NULL`,
    countEvents: `SELECT count(*) FROM ${event} WHERE task_id = $1 AND value IS NOT NULL`,
    /** Other deletes skip them. */
    lockDeletable: `SELECT id, principal FROM ${task} WHERE ${finished} AND sweep_at IS NOT NULL AND sweep_at <= $1
      ORDER BY sweep_at LIMIT $2 FOR UPDATE SKIP LOCKED`,
    /** In order of ids, like all locks. Skips what others are waking; the next look finds it if it is still there. */
    lockToWake: `SELECT ${recordColumns} FROM ${task}
      WHERE task.id = ANY (ARRAY(
          SELECT id FROM ${task} WHERE ${isWaiting} AND run_after <= $1 ORDER BY run_after, id LIMIT $2))
        AND ${isWaiting} AND run_after <= $1
      ORDER BY task.id FOR UPDATE SKIP LOCKED`,
    /** Without expired ones, of which there may be very many. */
    lockRunning: `SELECT ${recordColumns} FROM ${task} WHERE state = 'running' AND owner = $1 AND id > $2
      AND (sweep_at IS NULL OR sweep_at > $3) ORDER BY id LIMIT $4 FOR UPDATE SKIP LOCKED`,
    secret: `SELECT value FROM ${secret} WHERE name = $1 FOR UPDATE`,
  };
}

export type WriteStatements = ReturnType<typeof writeStatements>;
export type FactStatements = ReturnType<typeof factStatements>;

/** The most tasks that one group creates: each owner may add this many unnoticed while another one counts. */
export const mostCreates = 64;

/** The key of the count of all tasks. */
export const totalKey = "t";

export function principalKey(principal: string): string {
  return `p${toStored(principal)}`;
}

/** The lock of a count, which creators of tasks take shared or exclusively. */
export function countLock(schema: string, key: string): string {
  return `${schema} usage ${key}`;
}

/** The counts that include a task. Tasks made by other tasks are in none. */
export function countedUnder({
  parent,
  principal,
}: Pick<TaskRecord, "parent" | "principal">): readonly string[] {
  if (parent !== null) return [];
  return principal === null ? [totalKey] : [totalKey, principalKey(principal)];
}

/** How a group changes the numbers of tasks. */
export class UsageDeltas {
  readonly #deltas = new Map<string, Usage>();

  add(task: Pick<TaskRecord, "parent" | "principal">, unfinished: number, retained: number): void {
    for (const key of countedUnder(task)) {
      const { unfinished: u, retained: r } = this.of(key);
      this.#deltas.set(key, { unfinished: u + unfinished, retained: r + retained });
    }
  }

  /** Counts a replaced record. */
  replaced(before: TaskRecord, after: TaskRecord): void {
    this.add(after, Number(isTerminal(before.state)) - Number(isTerminal(after.state)), 0);
  }

  /** The counts of principals that have fewer tasks than before. */
  get fewer(): readonly string[] {
    return [...this.#deltas].flatMap(([key, { retained }]) => (retained < 0 && key !== totalKey ? key : []));
  }

  of(key: string): Usage {
    return this.#deltas.get(key) ?? { unfinished: 0, retained: 0 };
  }

  /** In one order for everyone: changes of several rows take them in it. */
  entries(): readonly (readonly [string, Usage])[] {
    const changed = [...this.#deltas].filter(
      ([, { unfinished, retained }]) => unfinished !== 0 || retained !== 0,
    );
    return changed.sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

/** How many more tasks an allowance permits. */
function room(usage: Usage, { unfinished, retained }: Allowance): number {
  return Math.min(
    unfinished === null ? Infinity : unfinished - usage.unfinished,
    retained === null ? Infinity : retained - usage.retained,
  );
}

/** The limits of a group of creates, by the counts that they apply to: the lowest of several, since each must be kept. */
export function limitsOf(
  creates: readonly { readonly principal: string | null; readonly quota: Quota }[],
): ReadonlyMap<string, Allowance> {
  const limits = new Map<string, Allowance>();
  for (const { principal, quota } of creates) {
    limits.set(totalKey, lower(quota.total, limits.get(totalKey)));
    if (principal === null) continue;
    const key = principalKey(principal);
    limits.set(key, lower(quota.perPrincipal, limits.get(key)));
  }
  return limits;
}

function lower(one: Allowance, other: Allowance = one): Allowance {
  const least = (a: number | null, b: number | null): number | null =>
    a === null || b === null ? (a ?? b) : Math.min(a, b);
  return {
    unfinished: least(one.unfinished, other.unfinished),
    retained: least(one.retained, other.retained),
  };
}

/** Whether there is room for everything that `owners` could be creating now, so that slightly outdated counts are good enough. */
export function hasMargin(usage: Usage, limit: Allowance, owners: number): boolean {
  return room(usage, limit) > (owners + 2) * mostCreates;
}

/** Counters are spread over rows, so that owners never wait for each other's. */
export const slots = 16;

export function usageStatements({ usage }: Names) {
  return {
    read: `SELECT key, sum(unfinished)::bigint, sum(retained)::bigint FROM ${usage} WHERE key = ANY($1::text[]) GROUP BY key`,
    add: `INSERT INTO ${usage} (key, slot, unfinished, retained)
      SELECT key, $1::smallint, unfinished, retained
      FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS delta (key, unfinished, retained)
      ON CONFLICT (key, slot) DO UPDATE SET
        unfinished = usage.unfinished + excluded.unfinished, retained = usage.retained + excluded.retained`,
    /** Exclusively locks those that are free. */
    tryLock: `SELECT key FROM unnest($1::text[], $2::text[]) AS each (key, name)
      WHERE pg_try_advisory_xact_lock(hashtextextended(name, 0))`,
    /** For principals with no tasks left. The caller holds the exclusive lock of their creates. */
    deleteEmpty: `DELETE FROM ${usage} WHERE key = ANY($1::text[]) AND key IN (
      SELECT key FROM ${usage} WHERE key = ANY($1::text[]) GROUP BY key HAVING sum(unfinished) = 0 AND sum(retained) = 0)`,
  };
}

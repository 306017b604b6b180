import type { Allowance, Quota, Usage } from "../../task/queue.ts";
import type { TaskRecord } from "../../task/record.ts";
import { isTerminal } from "../../task/outcome.ts";
import type { Names } from "./names.ts";
import { toStored } from "../stored-text.ts";

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

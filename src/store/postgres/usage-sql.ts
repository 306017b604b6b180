import type { Allowance, Quota, Usage } from "../../task/quota.ts";
import type { TaskRecord } from "../../task/record.ts";
import { isTerminal } from "../../task/status.ts";
import type { Names } from "./names.ts";
import { toStoredWithoutNul as toStored } from "../stored-text.ts";

/** How many tasks one group makes at most: what may come in unseen, of each owner, while another one counts. */
export const mostCreates = 64;

/** The row of all tasks, and that of a principal. */
export const totalKey = "t";

export function principalKey(principal: string): string {
  return `p${toStored(principal)}`;
}

/** Whoever makes tasks locks their counts, together with others or alone. */
export function countLock(schema: string, key: string): string {
  return `${schema} usage ${key}`;
}

/** The counts that a task is part of: those that other tasks made are part of none. */
export function countedUnder({
  parent,
  principal,
}: Pick<TaskRecord, "parent" | "principal">): readonly string[] {
  if (parent !== null) return [];
  return principal === null ? [totalKey] : [totalKey, principalKey(principal)];
}

/** What a group changes about how many tasks there are. */
export class UsageDeltas {
  readonly #deltas = new Map<string, Usage>();

  add(task: Pick<TaskRecord, "parent" | "principal">, unfinished: number, retained: number): void {
    for (const key of countedUnder(task)) {
      const { unfinished: u, retained: r } = this.of(key);
      this.#deltas.set(key, { unfinished: u + unfinished, retained: r + retained });
    }
  }

  /** A record instead of another one. */
  replaced(before: TaskRecord, after: TaskRecord): void {
    this.add(after, Number(isTerminal(before.state)) - Number(isTerminal(after.state)), 0);
  }

  /** The counts of principals who have fewer tasks than before. */
  get fewer(): readonly string[] {
    return [...this.#deltas].flatMap(([key, { retained }]) => (retained < 0 && key !== totalKey ? key : []));
  }

  of(key: string): Usage {
    return this.#deltas.get(key) ?? { unfinished: 0, retained: 0 };
  }

  /** In one order for all: whoever changes several rows takes them in it. */
  entries(): readonly (readonly [string, Usage])[] {
    const changed = [...this.#deltas].filter(
      ([, { unfinished, retained }]) => unfinished !== 0 || retained !== 0,
    );
    return changed.sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

/** How many more tasks an allowance has room for. */
function room(usage: Usage, { unfinished, retained }: Allowance): number {
  return Math.min(
    unfinished === null ? Infinity : unfinished - usage.unfinished,
    retained === null ? Infinity : retained - usage.retained,
  );
}

/** The limits of a group of creates, by the rows that count towards them: of several the lowest, since each is to be kept to. */
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

/** Whether all that `owners` could have in flight beside this has room, so that counts that are a little behind are good enough. */
export function hasMargin(usage: Usage, limit: Allowance, owners: number): boolean {
  return room(usage, limit) > (owners + 2) * mostCreates;
}

/** Counters are spread over rows, so that those of one owner never wait for another one's. */
export const slots = 16;

export function usageStatements({ usage }: Names) {
  return {
    read: `SELECT key, sum(unfinished)::bigint, sum(retained)::bigint FROM ${usage} WHERE key = ANY($1::text[]) GROUP BY key`,
    add: `INSERT INTO ${usage} (key, slot, unfinished, retained)
      SELECT key, $1::smallint, unfinished, retained
      FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS delta (key, unfinished, retained)
      ON CONFLICT (key, slot) DO UPDATE SET
        unfinished = usage.unfinished + excluded.unfinished, retained = usage.retained + excluded.retained`,
    /** Locks alone what nobody else has locked. */
    tryLock: `SELECT key FROM unnest($1::text[], $2::text[]) AS each (key, name)
      WHERE pg_try_advisory_xact_lock(hashtextextended(name, 0))`,
    /** Of principals who have nothing left; whoever deletes them holds the lock of their creates alone. */
    deleteEmpty: `DELETE FROM ${usage} WHERE key = ANY($1::text[]) AND key IN (
      SELECT key FROM ${usage} WHERE key = ANY($1::text[]) GROUP BY key HAVING sum(unfinished) = 0 AND sum(retained) = 0)`,
  };
}

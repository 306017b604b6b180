import type { AttemptEnd, TaskAttempt } from "../../task/attempts.ts";

// The attempts of a task as the text of a column: JSON, each attempt a list [number, owner, startedAt, endedAt, end, error, stack] without
// missing
// members at its end. Member names would double the size of each write.

export function attemptsText(attempts: readonly TaskAttempt[]): string {
  return attempts.length === 0 ? "[]" : JSON.stringify(attempts.map(valuesOf));
}

function valuesOf({ number, owner, startedAt, endedAt, end, error, stack }: TaskAttempt): unknown[] {
  if (stack !== undefined) return [number, owner, startedAt, endedAt, end, error ?? null, stack];
  if (error !== undefined) return [number, owner, startedAt, endedAt, end, error];
  if (end === null && endedAt === null) return [number, owner, startedAt];
  return [number, owner, startedAt, endedAt, end];
}

/** Throws if the text is no such list. */
export function attemptsOf(json: string): readonly TaskAttempt[] {
  if (json === "[]") return [];
  const lists: unknown = JSON.parse(json);
  if (!Array.isArray(lists)) return fail(json);
  return lists.map((values: unknown) => attemptOf(values) ?? fail(json));
}

function attemptOf(values: unknown): TaskAttempt | undefined {
  if (!Array.isArray(values)) return undefined;
  const members: readonly unknown[] = values;
  const [number, owner, startedAt, endedAt = null, end = null, error = null, stack] = members;
  if (!isInteger(number) || typeof owner !== "string" || !isInteger(startedAt)) return undefined;
  if ((endedAt !== null && !isInteger(endedAt)) || (end !== null && !isEnd(end))) return undefined;
  const attempt = { number, owner, startedAt, endedAt, end };
  if (error === null && stack === undefined) return attempt;
  if ((error !== null && typeof error !== "string") || (stack !== undefined && typeof stack !== "string"))
    return undefined;
  return { ...attempt, ...(error !== null && { error }), ...(stack !== undefined && { stack }) };
}

const ends: Readonly<Record<AttemptEnd, true>> = {
  settled: true,
  failed: true,
  cancelled: true,
  expired: true,
  parked: true,
  released: true,
  retried: true,
  lost: true,
};

function isEnd(value: unknown): value is AttemptEnd {
  return typeof value === "string" && Object.hasOwn(ends, value);
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function fail(json: string): never {
  throw new Error(`The column attempts contains ${json}.`);
}

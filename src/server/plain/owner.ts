import { requestHash } from "../../runtime/request-hash.ts";

/** Who made a call, as far as that is known. */
export interface PlainOwner {
  /** Null where callers are not told apart. */
  readonly principal: string | null;
  /** Where there is one; it tells callers apart who have no principal. */
  readonly session: string | undefined;
  /** What the caller's token is good for; left out: everything. */
  readonly scopes?: readonly string[] | undefined;
}

/**
 * In what the references of a caller are unique: its principal, else its session; undefined for a caller of whom
 * nothing is known, whose tasks are found by their ids alone.
 */
export function scopeOf({ principal, session }: PlainOwner): string | undefined {
  if (principal !== null) return `principal:${principal}`;
  return session === undefined ? undefined : `session:${session}`;
}

const prefix = "holdfast/plain:";

/** The key under which the same call of the same caller is the same task; undefined where nobody is known. */
export function callKey(owner: PlainOwner, tool: string, args: unknown): string | undefined {
  const { principal, session = "" } = owner;
  if (principal === null && session === "") return undefined;
  // Keys belong to a principal already; those of callers without one are told apart by their sessions.
  return `${prefix}${principal === null ? session : ""}:${requestHash(tool, args ?? {})}`;
}

/** Stands in no key of a call. */
const mark = "#";

/** The key of a further task of the same call, which is made while the first is waited for. */
export function anotherKey(key: string, name: string): string {
  return `${callKeyOf(key)}${mark}${name}`;
}

/** The key of the call that a task's key is one of. */
export function callKeyOf(key: string): string {
  const end = key.indexOf(mark);
  return end === -1 ? key : key.slice(0, end);
}

/** Whether `key` is one that we made, and not the caller's own. */
export function isCallKey(key: string | null): key is string {
  return key?.startsWith(prefix) === true;
}

import type { Client } from "pg";
import { HoldfastError, isStoreRefusal } from "../../task/fault.ts";
import { isNoValue } from "../row.ts";

/** The SQLSTATE of an error that Postgres reported; undefined for any other error. */
export function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return undefined;
  return /^[\dA-Z]{5}$/.test(error.code) && "severity" in error ? error.code : undefined;
}

/** Whether a key is taken. */
export function isKeyTaken(error: unknown): boolean {
  return sqlState(error) === "23505";
}

/** Whether the disk of the database is full. */
export function isFull(error: unknown): boolean {
  return sqlState(error) === "53100";
}

/** A wait for a lock timed out. */
export const lockTimeout = "55P03";

/** Whether a connection no longer has a statement that it was to keep: something else gave it up. Nothing was run. */
export function isStatementLost(error: unknown): boolean {
  return sqlState(error) === "26000";
}

/** Whether the same transaction may succeed now: after deadlocks, lock timeouts and conflicts, and on another connection. */
export function isWorthRepeating(error: unknown): boolean {
  const state = sqlState(error);
  const isConflict = state === "40P01" || state === "40001" || state === lockTimeout;
  return isConflict || isKeyTaken(error) || isStatementLost(error);
}

/** Whether an error concerns only the data of one statement, not the database: perhaps it could not even be sent. */
export function isFaultOfData(error: unknown): boolean {
  return (
    isStoreRefusal(error) ||
    error instanceof TypeError ||
    error instanceof RangeError ||
    adviceFor(error) !== undefined
  );
}

/** What to do about a fault of data; undefined for any other error. */
function adviceFor(error: unknown): string | undefined {
  const state = sqlState(error);
  const isTooMuch = state === "XX000" && messageOf(error).startsWith("invalid memory alloc request size");
  const isLong = isNoValue(error) && !(error instanceof TypeError);
  if (isLong || isTooMuch || state?.startsWith("54") === true)
    return "Make what is written shorter: put a hash in the place of a long name, and store large data as an artifact";
  if (isNoValue(error) || state?.startsWith("22") === true)
    return "Change the value: the database has no such text or number";
  if (state !== undefined && /^(?:21|23|44)/.test(state))
    return "It contradicts other rows, or a constraint of the database. Change the value, or remove a constraint that you added";
  return undefined;
}

/** Whether the connection is unusable: it broke, or Postgres ended it. */
export function isConnectionFault(error: unknown): boolean {
  const state = sqlState(error);
  if (state === undefined) return !(error instanceof HoldfastError);
  return /^(?:08|57P)/.test(state) || state === "25P03";
}

/**
 * Whether the server takes no writes: it is a standby, or was set to read-only. Its connections are of no use, however well they work. Some
 * functions fail there with states that stand for other faults too.
 */
export function isWrongServer(error: unknown): boolean {
  const state = sqlState(error);
  return (
    state === "25006" ||
    ((state === "0A000" || state === "XX000") && / during recovery/.test(messageOf(error)))
  );
}

/** The address of the database leads to a standby. */
class LeadsToStandby extends HoldfastError {
  constructor() {
    super(
      "store_failed",
      "The address of the database leads to a standby, which takes no writes. Give it that of the primary server, or the hosts of all servers, separated by commas.",
    );
  }
}

/** Whether the database answered, and takes no writes now: nothing comes of a wait. */
export function refusesWrites(error: unknown): boolean {
  return error instanceof LeadsToStandby || isWrongServer(error);
}

/** Rejects with `store_failed` if the server of a connection is a standby; resolves with the number of its process. */
export async function refuseStandby(client: Pick<Client, "query">): Promise<number | undefined> {
  const [isStandby, pid] = await serverOf(client);
  if (isStandby) throw new LeadsToStandby();
  return pid;
}

/** The number of its process, whatever the server is. */
export async function backendOf(client: Pick<Client, "query">): Promise<number | undefined> {
  const [, pid] = await serverOf(client);
  return pid;
}

async function serverOf(client: Pick<Client, "query">): Promise<readonly [boolean, number | undefined]> {
  const text = "SELECT pg_is_in_recovery(), pg_backend_pid()";
  const { rows } = await client.query<[boolean, number]>({ text, rowMode: "array" });
  return [rows[0]?.[0] === true, rows[0]?.[1]];
}

/** Whether a connection broke that seemed to be open: another one may work. */
export function isBroken(error: unknown): boolean {
  return isConnectionFault(error) && !messageOf(error).includes("timeout");
}

/** The most that is sent as the values of one statement, in bytes: Postgres ends a connection that sends it a message of 1 GiB. */
const mostSentBytes = 1_000_000_000;

type Value = string | number | null;

/** Throws `store_refused` for values that are too large to be sent. */
export function assertSendable(values: readonly (Value | readonly Value[])[]): void {
  if (sizeOf(values, (text) => 3 * text.length) <= mostSentBytes) return; // mostly that is all there is to it
  const bytes = sizeOf(values, (text) => Buffer.byteLength(text));
  const problem = `it has up to ${bytes} bytes, and ${mostSentBytes} are the most that is sent at once`;
  if (bytes > mostSentBytes)
    throw storeRefused(Object.assign(new RangeError(problem), { code: "ERR_OUT_OF_RANGE" }));
}

/** In an array, each quote and backslash takes two bytes; as many as there may be are counted. */
function sizeOf(values: readonly (Value | readonly Value[])[], size: (text: string) => number): number {
  let sum = 0;
  for (const value of values) {
    if (typeof value === "string") sum += size(value);
    else if (typeof value === "object" && value !== null)
      for (const each of value) if (typeof each === "string") sum += 2 * size(each);
  }
  return sum;
}

/** `store_refused` with the cause: the database will not take this data later either. */
export function storeRefused(error: unknown, what = "a statement"): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const advice = adviceFor(error);
  if (advice === undefined) return storeFailed(error);
  const problem = `The database refuses ${what} for good: ${messageOf(error)}. ${advice}.`;
  return new HoldfastError("store_refused", problem, { cause: error });
}

/**
 * `store_failed` with the cause, or `store_refused` for a fault of data that nothing else in the database has to do with. An error with a
 * code of its own stays: it is more specific.
 */
export function storeFailed(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  if (adviceFor(error) !== undefined && !isWorthRepeating(error)) return storeRefused(error);
  if (isWrongServer(error)) {
    const problem = `The database takes no writes now: ${messageOf(error)}.`;
    return new HoldfastError("store_failed", problem, { cause: error });
  }
  const isAway = isConnectionFault(error);
  const problem = isAway ? "does not answer" : "refused a statement";
  return new HoldfastError("store_failed", `The database ${problem}: ${messageOf(error)}.`, { cause: error });
}

/** The error's text, for use inside a sentence. */
export function messageOf(error: unknown): string {
  // If a host has several addresses, an AggregateError without a message holds the error of each.
  const first: unknown = error instanceof AggregateError ? (error.errors as unknown[])[0] : error;
  return (first instanceof Error ? first.message : String(first)).replace(/\.$/, "");
}

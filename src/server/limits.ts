import type { JsonObject } from "../generation/message.ts";
import { HoldfastError } from "../task/fault.ts";
import type { TimeSpan } from "../task/time.ts";
import { number, type Settings, tableOf, time } from "../options/options.ts";

/** Whom something belongs to; null is all callers that the server does not tell apart, as one. */
export type Principal = string | null;

/**
 * Who shares what is limited: a principal, or the address of callers that the server does not tell apart; null where that is unknown too, as
 * behind a framework. Callers of one address may be many, so only principals have limits of their own.
 */
export type Share = string | null;

/** No principal begins so. */
const ofAddress = "\0";

export function shareOf({
  principal,
  address,
}: {
  principal: Principal;
  address?: string | undefined;
}): Share {
  if (principal !== null || address === undefined) return principal;
  const isV6 = address.includes(":") && !address.includes(".");
  return ofAddress + (isV6 ? networkOf(address) : address);
}

/** Whoever has an address of version 6 has a network of them. `::` stands for as many zeros as are missing. */
function networkOf(address: string): string {
  const [before = [], after] = address.split("::").map((part) => (part === "" ? [] : part.split(":")));
  const zeros = after === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  return [...before, ...Array<string>(zeros).fill("0"), ...(after ?? [])].slice(0, 4).join(":");
}

export function isPrincipal(share: Share): boolean {
  return share?.startsWith(ofAddress) === false;
}

/** Things by the principal that has them, so that the principal with most is the first to give something up. */
export class PerPrincipal<T> {
  readonly #things = new Map<Share, Set<T>>();
  #size = 0;

  /** Of all principals together. */
  get size(): number {
    return this.#size;
  }

  add(share: Share, thing: T): void {
    const things = this.#things.get(share) ?? new Set();
    this.#things.set(share, things);
    if (things.has(thing)) return;
    things.add(thing);
    this.#size += 1;
  }

  /** Does nothing if the principal does not have it. */
  remove(share: Share, thing: T): void {
    const things = this.#things.get(share);
    if (things?.delete(thing) !== true) return;
    this.#size -= 1;
    if (things.size === 0) this.#things.delete(share);
  }

  /** What the principal has, oldest first. */
  of(share: Share): ReadonlySet<T> {
    return this.#things.get(share) ?? new Set();
  }

  count(share: Share): number {
    return this.of(share).size;
  }

  /** What the principal with most has, oldest first; empty if there is nothing. */
  get largest(): ReadonlySet<T> {
    let largest: ReadonlySet<T> = new Set();
    for (const things of this.#things.values()) if (things.size > largest.size) largest = things;
    return largest;
  }
}

/**
 * The fault of parsed JSON that is no acceptable message: one that is nested too deeply, since schemas, hashes and
 * `JSON.stringify` recurse; or one with a number out of range, which is parsed as infinite and written as null, so that a
 * tool would run on other arguments than were checked.
 */
export function messageFault(message: unknown, levels: number): HoldfastError | undefined {
  if (!hasFault(message, levels)) return undefined;
  return new HoldfastError(
    "invalid_request",
    isTooDeep(message, levels)
      ? `The message is nested more than ${levels} levels deep.`
      : "The message has a number that is out of range.",
  );
}

/** Goes no deeper than `levels`. */
function hasFault(value: unknown, levels: number): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((item) => hasFault(item, levels - 1));
  for (const name in value) if (hasFault((value as JsonObject)[name], levels - 1)) return true;
  return false;
}

function isTooDeep(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isTooDeep(item, levels - 1));
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openList, openObject, closeList, closeObject] = [0x5b, 0x7b, 0x5d, 0x7d];
const space = 0x20;

/** Of one object, which takes far longer to validate than a list of the same length. */
function mostMembers(max: number): number {
  return Math.max(1_000, Math.floor(max / 10));
}

/**
 * Counts the values in JSON text as it arrives, without parsing it: objects, lists and what is in them, but not the names of
 * members. It takes character codes or bytes of UTF-8. For text that is not JSON, the count has no meaning.
 */
export class NodeCount {
  readonly #max: number;
  readonly #maxMembers: number;
  #values = 1;
  /** Members of the innermost open object; -Infinity in a list. */
  #members = -Infinity;
  /** The same for the objects and lists around it. */
  readonly #outer: number[] = [];
  #manyMembers = false;
  #inString = false;
  #escaped = false;
  /** Whether an object or list has just begun, and is still empty. */
  #begun = false;

  constructor(max = Infinity) {
    this.#max = max;
    this.#maxMembers = mostMembers(max);
  }

  get values(): number {
    return this.#values;
  }

  get tooMany(): boolean {
    return this.#manyMembers || this.#values > this.#max;
  }

  get fault(): string {
    return this.#manyMembers
      ? `The message has an object with more than ${this.#maxMembers} members.`
      : `The message has more than ${this.#max} values.`;
  }

  add(code: number): void {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false;
      else if (code === backslash) this.#escaped = true;
      else if (code === quote) this.#inString = false;
      return;
    }
    if (code <= space) return;
    if (this.#begun) {
      this.#begun = false;
      if (code !== closeList && code !== closeObject) this.#values += 1;
    }
    if (code === quote) this.#inString = true;
    else if (code === comma) this.#next();
    else if (code === openList || code === openObject) this.#open(code);
    else if (code === closeList || code === closeObject) this.#members = this.#outer.pop() ?? -Infinity;
  }

  #next(): void {
    this.#values += 1;
    this.#members += 1;
    if (this.#members > this.#maxMembers) this.#manyMembers = true;
  }

  #open(code: number): void {
    this.#begun = true;
    this.#outer.push(this.#members);
    this.#members = code === openObject ? 1 : -Infinity;
  }
}

/** What is wrong with `text` if it has more values than `max` allows. */
export function nodeFault(text: string, max: number): string | undefined {
  // A value has a character and a comma, or an object or list around it; a member five, with its quotes and colon.
  if (text.length < Math.min(2 * max, 5 * mostMembers(max))) return undefined;
  const count = new NodeCount(max);
  for (let place = 0; place < text.length; place++) {
    count.add(text.charCodeAt(place));
    if (count.tooMany) return count.fault;
  }
  return undefined;
}

class DeclaredRateOptions {
  /** Maximum number of `tools/call` of one principal in a minute. `null`: no limit. Default 6,000. */
  readonly callsPerMinute?: number | null = number({
    min: 1,
    orNull: true,
    default: 6_000,
    variable: "HOLDFAST_CALLS_PER_MINUTE",
  });
  /** The same for `tasks/list`, together with calls of `task_list`. Default 600. */
  readonly listsPerMinute?: number | null = number({
    min: 1,
    orNull: true,
    default: 600,
    variable: "HOLDFAST_LISTS_PER_MINUTE",
  });
  /**
   * Maximum number of lookups in a minute of tasks that do not exist or belong to other principals, also by polling tools. More are refused
   * for the rest of the minute; lookups of the caller's own tasks never are. `null`: no limit. Default 100.
   */
  readonly missesPerMinute?: number | null = number({
    min: 1,
    orNull: true,
    default: 100,
    variable: "HOLDFAST_MISSES_PER_MINUTE",
  });
  /**
   * Maximum number of `tasks/get`, and of `tasks/result`, of one task by one principal within the poll interval that the last answer
   * advertised. `null`: no limit. Default 20.
   */
  readonly pollsPerInterval?: number | null = number({
    min: 1,
    orNull: true,
    default: 20,
    variable: "HOLDFAST_POLLS_PER_INTERVAL",
  });
  /**
   * The delay of the event loop (90th percentile) above which the process refuses new calls. It still answers requests about existing
   * tasks. `null`: no limit. Default 1 second.
   */
  readonly maxLoopDelayMs?: TimeSpan | null = time({
    min: 1,
    orNull: true,
    default: 1_000,
    variable: "HOLDFAST_MAX_LOOP_DELAY",
  });
}

/** Rate limits of one principal. For callers without a principal, only the limits on polls of a task and on the load of the process apply. */
export interface RateOptions extends DeclaredRateOptions {}

export const rateOptions = tableOf<RateOptions>(DeclaredRateOptions);

export type RateSettings = Settings<RateOptions>;

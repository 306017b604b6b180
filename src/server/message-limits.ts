import type { JsonObject } from "../generation/message.ts";
import { HoldfastError } from "../task/fault.ts";

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

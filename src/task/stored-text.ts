/**
 * Texts as stores keep them: JSON, cut to a length in code points, or encrypted.
 */

import { HoldfastError, isUnreadable, tooLarge } from "./fault.ts";

/**
 * In bytes, as stored. A task whose names fitted the index of its first state alone could not be claimed again after a crash: an index of
 * Postgres takes no row of more than 2,704 bytes, and each store has to take the same tasks.
 */
export const mostNameBytes = { principal: 1_000, tool: 500 };

/**
 * The JSON text of a value that survives JSON unchanged. Throws `not_json` for anything else (a `Date`, a `Map`, `NaN`, `undefined` inside
 * an object, a cycle), and says where. So a value that would come back different after a crash fails on the first run, in development.
 * Throws `too_large` if its strings alone are larger than `maxBytes`.
 */
export function encodeJson(value: unknown, what: string, maxBytes = Infinity): string {
  const room = new TextRoom(what, maxBytes);
  try {
    assertJson(value, "", new Set(), room);
    return JSON.stringify(value);
  } catch (error) {
    if (room.refuses(error)) throw room.refusal;
    const problem = isA(error, RangeError) ? new NotJson("", "nested too deeply") : error;
    if (!isA(problem, NotJson)) throw error;
    throw new HoldfastError(
      "not_json",
      `${what} cannot be stored as JSON: ${problem.message}. Use plain data (strings, finite numbers, booleans, null, arrays, objects).`,
    );
  }
}

/** The length of the longest string of V8, in UTF-16 units, each of which is at least a byte of UTF-8. */
const longestString = 0x1fff_ffe8;

/** Refuses what is too large before its JSON is written: that would block the event loop for seconds, or fail without a word of why. */
export class TextRoom {
  readonly #what: string;
  readonly #max: number;
  #left: number;

  constructor(what: string, maxBytes: number) {
    this.#what = what;
    this.#max = Math.min(maxBytes, longestString);
    this.#left = this.#max;
  }

  get refusal(): HoldfastError {
    return tooLarge(
      this.#what,
      this.#max,
      this.#max === longestString ? "a string of JavaScript" : undefined,
    );
  }

  /** Throws if there is no room for one more string. */
  take(text: string): true {
    this.#left -= text.length;
    if (this.#left < 0) throw this.refusal;
    return true;
  }

  /** Whether `error` means that there was no room, for the strings or for their JSON. */
  refuses(error: unknown): boolean {
    return this.#left < 0 || (isA(error, RangeError) && error.message === "Invalid string length");
  }
}

/** False for what throws when it is looked at. */
function isA<Kind>(thrown: unknown, kind: new (...given: never) => Kind): thrown is Kind {
  try {
    return thrown instanceof kind;
  } catch {
    return false;
  }
}

/** What is no JSON, and where; an empty path is the value itself. */
class NotJson extends Error {
  constructor(path: string, found: string) {
    super(`${path === "" ? "it" : path.replace(/^\./, "")} is ${found}`);
  }
}

function assertJson(value: unknown, path: string, above: Set<object>, room: TextRoom): void {
  switch (typeof value) {
    case "string":
      room.take(value);
      return;
    case "boolean":
      return;
    case "number":
      if (Number.isFinite(value)) return;
      throw new NotJson(path, String(value));
    case "object":
      if (value === null) return;
      assertContainer(value, path, above, room);
      return;
    default:
      throw new NotJson(path, value === undefined ? "undefined" : `a ${typeof value}`);
  }
}

function assertContainer(value: object, path: string, above: Set<object>, room: TextRoom): void {
  if (above.has(value)) throw new NotJson(path, "a reference to itself");
  above.add(value);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++)
      assertJson(value[index], `${path}[${index}]`, above, room);
  } else {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) {
      throw new NotJson(path, `an instance of ${nameOfClass(prototype)}`);
    }
    if ("toJSON" in value && typeof value.toJSON === "function")
      throw new NotJson(path, "an object with toJSON");
    for (const [key, member] of Object.entries(value)) {
      // An absent and an undefined member read the same, so leaving it out changes nothing.
      if (member !== undefined) assertJson(member, `${path}.${key}`, above, room);
    }
  }
  above.delete(value);
}

function nameOfClass(prototype: unknown): string {
  const maker: unknown =
    typeof prototype === "object" && prototype !== null ? prototype.constructor : undefined;
  return typeof maker === "function" && maker.name !== "" ? maker.name : "a class of its own";
}

/** In code points: the length of an error line. */
const line = 200;

/** The beginning of a text that is too long for a line. It never splits a surrogate pair. */
export function cutText(text: string, longest = line): string {
  if (text.length <= longest) return text;
  // a code point has at most two units, so this contains all that is kept
  const points = Array.from(text.slice(0, 2 * longest + 2));
  return points.length <= longest ? text : `${points.slice(0, longest - 1).join("")}…`;
}

/** The beginning of a text of more than so many bytes of UTF-8, with a mark that says how many are missing. */
export function cutBytes(text: string, maxBytes: number): string {
  // a code unit has at most three bytes
  if (text.length * 3 <= maxBytes) return text;
  const encoder = new TextEncoder();
  const bytes = encoder.encode(text);
  if (bytes.length <= maxBytes) return text;
  const begun = bytes.subarray(0, Math.max(0, maxBytes - longestMark));
  const kept = new TextDecoder().decode(begun, { stream: true }); // without the part of a character at its end
  return `${kept}… [${bytes.length - encoder.encode(kept).length} more bytes]`.slice(0, maxBytes);
}

/** In bytes, of such a mark for a text of up to a terabyte. */
const longestMark = 30;

/** An encrypted text: `enc2:`, the id of its key, and the ciphertext. No JSON text begins like this. */
const beginning = /^enc2:[\w-]{1,32}:[\w-]{38}/;

const notInCiphertext = /[^\w-]/g;

/** What operators without keys see instead of an encrypted text. */
export const encryptedText = "(encrypted)";

/** Whether a text is encrypted: only an encrypted store (`encryptedStore`) can read it. */
export function isSealed(text: string): boolean {
  const begun = beginning.exec(text);
  if (begun === null) return false;
  notInCiphertext.lastIndex = begun[0].length; // one expression for all would need a stack as long as the text
  return !notInCiphertext.test(text);
}

/** An encrypted text that cannot be decrypted. */
export class DecryptionError extends Error {
  override readonly name = "DecryptionError";
}

/** Whether `thrown` says that a task cannot be read because its stored data cannot be decrypted here. */
export function isUndecrypted(thrown: unknown): boolean {
  return isUnreadable(thrown) && thrown.cause instanceof DecryptionError;
}

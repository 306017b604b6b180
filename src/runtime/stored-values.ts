/**
 * Values and errors as the journal keeps them and hands them back: those of steps, events and `prepare`.
 * - Plain JSON data is stored as its JSON, unchanged. For anything else superjson writes readable JSON, and beside it what its parts were.
 * - Whoever gets a value or an error gets the decoded copy, in the run that stored it too: so a replay shows the same.
 * - Instances of classes are stored as their data. Functions, symbols and cycles in values are refused, with their place.
 * - Errors keep their name, message, code, data and causes. An error is always stored: what does not fit, or cannot be stored, is left out.
 * - Answers of clients and results of tools come from outside and are JSON as it came. They are never decoded here.
 */

import SuperJSON from "superjson";
import { HoldfastError, tooLarge } from "../task/fault.ts";
import { TextRoom } from "../task/stored-text.ts";
import {
  callErrorData,
  describeThrown,
  errorNamed,
  errorParts,
  isError,
  jsonTextOf,
  TaskCallError,
} from "./tool/tool-errors.ts";

/** Where a value comes from, for what is said of it. */
export interface ValueSource {
  /** As the beginning of a sentence, such as `The result of step "pay"`. */
  readonly what: string;
  /** The name of the value in a path, such as `result` in `result.items[3]`. */
  readonly name: string;
  readonly maxBytes: number;
  /** Called for a value that is stored, with the first instance of a class of which it has the data alone. */
  readonly onInstance?: (path: string, className: string) => void;
}

/** The JSON text to store for a value. Throws `not_json` for what cannot be stored, and `too_large`. */
export function encodeValue(value: unknown, { what, name, maxBytes, onInstance }: ValueSource): string {
  const encoder = new Encoder();
  const room = new TextRoom(what, maxBytes);
  let text: string;
  try {
    text = JSON.stringify(encoder.stored(value, name, room));
  } catch (error) {
    if (room.refuses(error)) throw room.refusal;
    throw new HoldfastError("not_json", `${what} cannot be stored: ${reasonOf(error, name)}.`);
  }
  if (Buffer.byteLength(text) > maxBytes) throw tooLarge(what, maxBytes);
  const { instance } = encoder;
  if (instance !== undefined) onInstance?.(instance.path, instance.className);
  return text;
}

/** A stored text is not what was stored. Not just any SyntaxError: a step may have thrown one, which is then what its entry is to throw. */
export class DamagedValue extends SyntaxError {}

/** The JSON of a stored text. Throws a DamagedValue. */
export function parseStored(text: string): unknown {
  return undamaged(() => JSON.parse(text) as unknown);
}

/** The value of a stored text; undefined for null, which is stored for it. Throws a DamagedValue. */
export function decodeValue(text: string | null): unknown {
  return text === null ? undefined : restored(parseStored(text));
}

/** Maximum number of causes of an error, and of errors of an `AggregateError`. */
const mostCauses = 10;

/** The JSON text to store for whatever was thrown. Never throws. */
export function encodeError(thrown: unknown, maxBytes: number): string {
  for (const parts of ["all", "no causes", "no data"] as const) {
    const text = jsonTextOf(recordOf(thrown, parts, maxBytes));
    if (text !== undefined && Buffer.byteLength(text) <= maxBytes) return text;
  }
  const message = `The handler threw an error larger than ${maxBytes} bytes.`;
  return JSON.stringify({ name: "Error", message });
}

/**
 * The error of a stored text. A protocol error is restored as one, so that it still becomes the JSON-RPC error of the call. `origin`
 * is what was thrown, in the run that stored it: its stacks stay, for operators.
 */
export function decodeError(json: string, origin?: unknown): Error {
  return errorOf(parseStored(json) as StoredError, origin);
}

interface StoredError {
  readonly name: string;
  readonly message: string;
  readonly code?: string | number;
  readonly data?: unknown;
  readonly cause?: StoredCause;
  readonly errors?: readonly StoredCause[];
}

/** Another error, or a value of another kind that was thrown. */
type StoredCause = StoredError | { readonly value: unknown };

/** No plain value has a member of this name at its top, without being encoded itself. */
const mark = "holdfast/value";

interface Encoded {
  readonly [mark]: unknown;
  /** What superjson knows of the parts. */
  readonly types: unknown;
}

function restored(json: unknown): unknown {
  if (!isEncoded(json)) return json;
  return undamaged(() =>
    codec().deserialize({ json: json[mark], meta: json.types } as never, { inPlace: true }),
  );
}

function undamaged(read: () => unknown): unknown {
  try {
    return read();
  } catch (cause) {
    throw new DamagedValue("The stored value is damaged.", { cause });
  }
}

function isEncoded(json: unknown): json is Encoded {
  return typeof json === "object" && json !== null && Object.hasOwn(json, mark);
}

/** Why a value cannot be stored, with its place. */
class Refusal extends Error {
  constructor(path: string, found: string) {
    super(`${path} is ${found}`);
  }
}

function reasonOf(error: unknown, name: string): string {
  if (isError(error) && error instanceof Refusal) return error.message;
  if (isError(error) && error instanceof RangeError) return `${name} is nested too deeply`;
  return `${name} cannot be read (${describeThrown(error)})`; // its getters are the author's
}

/** Names that superjson takes for attacks, and keys that its paths cannot have. */
const oddKeys = new Set(["__proto__", "constructor", "prototype", ""]);

/** An object that has such keys. */
class OddObject {
  readonly entries: readonly (readonly [string, unknown])[];

  constructor(entries: OddObject["entries"]) {
    this.entries = entries;
  }
}

/** An error in a value. */
class ErrorValue {
  readonly record: StoredError;

  constructor(record: StoredError) {
    this.record = record;
  }
}

const typedArrays: readonly unknown[] = [
  Int8Array,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  Uint8ClampedArray,
  BigInt64Array,
  BigUint64Array,
];

/** Makes copies that superjson carries. Each object has one copy, so what was one object stays one. */
class Encoder {
  /** The first instance of a class that has become its data. */
  instance: { readonly path: string; readonly className: string } | undefined;
  readonly #above = new Set<object>();
  readonly #copies = new Map<object, unknown>();

  /** The JSON value to store. Throws a `Refusal`. */
  stored(value: unknown, path: string, room?: TextRoom): unknown {
    return isPlain(value, new Set(), room) && !isEncoded(value) ? value : encoded(this.#copy(value, path));
  }

  #copy(value: unknown, path: string): unknown {
    if (typeof value === "function") throw new Refusal(path, "a function");
    if (typeof value === "symbol") throw new Refusal(path, "a symbol");
    if (typeof value !== "object" || value === null) return value;
    if (this.#above.has(value)) throw new Refusal(path, "a reference to an object that contains it");
    if (this.#copies.has(value)) return this.#copies.get(value);
    this.#above.add(value);
    try {
      const copy = this.#copyOf(value, path);
      this.#copies.set(value, copy);
      return copy;
    } finally {
      this.#above.delete(value);
    }
  }

  #copyOf(value: object, path: string): unknown {
    if (Array.isArray(value))
      return Array.from(value, (each, index) => this.#copy(each, `${path}[${index}]`));
    if (value instanceof Date || value instanceof RegExp || value instanceof URL) return value;
    if (value instanceof Uint8Array || value instanceof ArrayBuffer) return value;
    if (value instanceof Error) return new ErrorValue(recordOf(value, "all", Infinity, this));
    if (value instanceof Map) return this.#copyOfMap(value, path);
    if (value instanceof Set) {
      return new Set(Array.from(value, (each: unknown, index) => this.#copy(each, `${path}[${index}]`)));
    }
    const { constructor }: { constructor?: unknown } = value;
    if (ArrayBuffer.isView(value) && typedArrays.includes(constructor)) return value;
    if ("toJSON" in value && typeof value.toJSON === "function") {
      this.instance ??= { path, className: nameOfClass(value) };
      return this.#copy((value as { toJSON: (key: string) => unknown }).toJSON(""), path);
    }
    if (!isPlainObject(value)) this.instance ??= { path, className: nameOfClass(value) };
    const entries = Object.entries(value).map(
      ([key, each]: [string, unknown]) => [key, this.#copy(each, memberPath(path, key))] as const,
    );
    return entries.some(([key]) => oddKeys.has(key)) ? new OddObject(entries) : Object.fromEntries(entries);
  }

  #copyOfMap(map: ReadonlyMap<unknown, unknown>, path: string): unknown {
    return new Map(
      Array.from(map, ([key, each]) => {
        const at = typeof key === "string" ? JSON.stringify(key) : typeof key === "number" ? key : "…";
        return [this.#copy(key, `a key of ${path}`), this.#copy(each, `${path}.get(${at})`)];
      }),
    );
  }
}

function encoded(copy: unknown): unknown {
  const { json, meta } = codec().serialize(copy);
  return { [mark]: json, types: meta };
}

function memberPath(path: string, key: string): string {
  return /^[\p{L}$_][\p{L}\p{N}$_]*$/u.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function nameOfClass(value: object): string {
  const maker: unknown = "constructor" in value ? value.constructor : undefined;
  return typeof maker === "function" && maker.name !== "" ? maker.name : "a class without a name";
}

/** Whether a value is what its JSON says, with nothing left out. */
function isPlain(value: unknown, above: Set<object>, room?: TextRoom): boolean {
  if (typeof value === "string") return room?.take(value) ?? true;
  if (typeof value === "boolean" || value === null) return true;
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value !== "object" || above.has(value)) return false;
  above.add(value);
  const isArray = Array.isArray(value);
  if (!isArray && (!isPlainObject(value) || typeof (value as { toJSON?: unknown }).toJSON === "function"))
    return false;
  for (const each of isArray ? (value as unknown[]) : Object.values(value)) {
    if (!isPlain(each, above, room)) return false;
  }
  above.delete(value);
  return true;
}

let shared: SuperJSON | undefined;

/** Made when a value first needs it. */
function codec(): SuperJSON {
  return (shared ??= newCodec());
}

function newCodec(): SuperJSON {
  const made = new SuperJSON();
  const custom = <T>(
    name: string,
    isApplicable: (value: unknown) => value is T,
    serialize: (value: T) => unknown,
    deserialize: (json: never) => unknown,
  ): void => made.registerCustom({ isApplicable, serialize, deserialize } as never, name);
  const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
  const bytesOf = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(Buffer.from(text, "base64"));
  custom(
    "Error",
    (value) => value instanceof ErrorValue,
    ({ record }) => record,
    (record: StoredError) => errorOf(record),
  );
  custom(
    "object",
    (value) => value instanceof OddObject,
    ({ entries }) => entries.map(([key, each]) => [key, encoded(each)]),
    (entries: [string, unknown][]) => Object.fromEntries(entries.map(([key, each]) => [key, restored(each)])),
  );
  custom(
    "Buffer",
    (value) => Buffer.isBuffer(value),
    textOf,
    (text: string) => Buffer.from(text, "base64"),
  );
  custom("Uint8Array", (value) => value instanceof Uint8Array, textOf, bytesOf);
  custom(
    "ArrayBuffer",
    (value) => value instanceof ArrayBuffer,
    (value) => textOf(new Uint8Array(value)),
    (text: string) => bytesOf(text).buffer,
  );
  custom(
    "invalid Date",
    (value): value is Date => value instanceof Date && Number.isNaN(value.getTime()),
    () => null,
    () => new Date(Number.NaN),
  );
  return made;
}

type Parts = "all" | "no causes" | "no data";

/** The readable parts of what was thrown. */
function recordOf(thrown: unknown, parts: Parts, maxBytes: number, encoder = new Encoder()): StoredError {
  const above = new Set<unknown>();
  const storedCauseOf = (cause: unknown): StoredCause | undefined => {
    if (isError(cause)) return above.has(cause) || above.size > mostCauses ? undefined : errorRecord(cause);
    const value = storedData(cause, encoder);
    return value === undefined ? undefined : { value };
  };
  const errorRecord = (error: Error): StoredError => {
    above.add(error);
    const { name, message, code, data, cause, errors } = errorParts(error);
    const kept =
      error instanceof TaskCallError
        ? callErrorData(error, parts === "no data" ? 0 : maxBytes)
        : parts === "no data" || data === undefined
          ? undefined
          : storedData(data, encoder);
    const its = parts !== "all" || cause === undefined ? undefined : storedCauseOf(cause);
    const all = parts !== "all" ? [] : (errors ?? []).slice(0, mostCauses).map(storedCauseOf);
    above.delete(error);
    return {
      name,
      message,
      ...(code !== undefined && !(error instanceof TaskCallError) && { code }),
      ...(kept !== undefined && { data: kept }),
      ...(its !== undefined && { cause: its }),
      ...(errors !== undefined && { errors: all.filter((each) => each !== undefined) }),
    };
  };
  if (isError(thrown)) return errorRecord(thrown);
  const value =
    parts === "all" && typeof thrown === "object" && thrown !== null
      ? storedData(thrown, encoder)
      : undefined;
  return {
    name: "Error",
    message: describeThrown(thrown),
    ...(value !== undefined && { cause: { value } }),
  };
}

/** What can be stored of an error's data: all of it, what JSON carries of it, or nothing. */
function storedData(data: unknown, encoder: Encoder): unknown {
  try {
    return encoder.stored(data, "data");
  } catch {
    try {
      return new Encoder().stored(JSON.parse(JSON.stringify(data)), "data");
    } catch {
      return undefined;
    }
  }
}

function errorOf(record: StoredError, origin?: unknown): Error {
  const data = restored(record.data);
  const error = errorNamed(record, data);
  const hidden = (member: string, value: unknown): void =>
    void Object.defineProperty(error, member, { value, writable: true, configurable: true });
  const from = isError(origin) ? errorOrigin(origin) : undefined;
  if (record.cause !== undefined) hidden("cause", causeOf(record.cause, from?.cause));
  const errors = record.errors?.map((each) => causeOf(each));
  if (errors !== undefined) hidden("errors", errors);
  if (from?.stack !== undefined) hidden("stack", from.stack);
  return error;
}

function causeOf(cause: StoredCause, origin?: unknown): unknown {
  return "message" in cause ? errorOf(cause, origin) : restored(cause.value);
}

function errorOrigin(error: Error): { readonly stack?: string; readonly cause?: unknown } {
  try {
    const { stack, cause } = error;
    return { ...(typeof stack === "string" && { stack }), cause };
  } catch {
    return {}; // its getters are the author's
  }
}

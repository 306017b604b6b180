import { createSecretKey, type KeyObject } from "node:crypto";
import { HoldfastError } from "../task/fault.ts";

/** A key of an encrypted store. */
export interface EncryptionKey {
  /** Names the key in the data that it encrypts: 1 to 32 of `A-Z`, `a-z`, `0-9`, `_` and `-`. Not secret. */
  readonly id: string;
  /** 32 random bytes, or their base64 (`openssl rand -base64 32`). */
  readonly key: Uint8Array | string;
}

/** Keys by their ids. The first one encrypts. */
export type KeyRing = ReadonlyMap<string, KeyObject>;

const keyBytes = 32;
const idForm = /^[\w-]{1,32}$/;
const base64Form = /^[A-Za-z\d+/_-]{43}=?$/;

/** The keys of a list, or of a text such as `id:base64,id2:base64`. Throws `configuration` for an invalid key, without quoting it. */
export function readKeys(given: readonly EncryptionKey[] | string): KeyRing {
  const keys = typeof given === "string" ? keysIn(given) : given;
  const isList: boolean = Array.isArray(keys);
  if (!isList || keys.length === 0) throw wrong("Give at least one, as { id, key }.");
  const ring = new Map<string, KeyObject>();
  for (const [index, each] of keys.entries()) {
    const { id, key } = asKey(each, `Key ${index + 1}`);
    if (ring.has(id)) throw wrong(`Two keys have the id "${id}".`);
    ring.set(id, createSecretKey(bytesOf(id, key)));
  }
  return ring;
}

function keysIn(text: string): readonly EncryptionKey[] {
  return text
    .split(/[,\s]+/)
    .filter((part) => part !== "")
    .map((part, index) => {
      const colon = part.indexOf(":");
      if (colon === -1) throw wrong(`Key ${index + 1} does not have the form ID:BASE64.`);
      return { id: part.slice(0, colon), key: part.slice(colon + 1) };
    });
}

function asKey(given: EncryptionKey, which: string): EncryptionKey {
  const { id, key } = given;
  if (typeof id !== "string" || !idForm.test(id))
    throw wrong(`${which} needs an id of 1 to 32 letters, digits, "_" or "-".`);
  if (typeof key !== "string" && !(key instanceof Uint8Array))
    throw wrong(`Key "${id}" is neither bytes nor base64 text.`);
  return given;
}

function bytesOf(id: string, key: Uint8Array | string): Uint8Array {
  if (typeof key === "string" && !base64Form.test(key))
    throw wrong(`Key "${id}" is not ${keyBytes} bytes in base64. Make one with "openssl rand -base64 32".`);
  // base64 and base64url alike
  const bytes = typeof key === "string" ? Buffer.from(key, "base64") : key;
  if (bytes.length === keyBytes) return bytes;
  throw wrong(`Key "${id}" has ${bytes.length} bytes instead of ${keyBytes}.`);
}

function wrong(problem: string): HoldfastError {
  return new HoldfastError("configuration", `The encryption keys cannot be used. ${problem}`);
}

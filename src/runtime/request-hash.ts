import { createHmac, hash } from "node:crypto";
import type { TaskStore } from "../store/store.ts";

/** Of a store: how it has hashes. */
export type HashingStore = Pick<TaskStore, "hashKey">;

/** The hash of a request in the form in which a store has it. */
export interface StoredHash {
  readonly value: string;
  /** Of an encrypted store: what it has of requests from before it was encrypted. */
  readonly former?: string;
}

/**
 * Tells the same request from another one: SHA-256 over the canonical JSON (RFC 8785) of what names it, so that the
 * order of an object's keys makes no difference. Where the RFC refuses half a surrogate pair, it is escaped
 * here: a request that JSON can carry has a hash.
 */
export function requestHash(...parts: readonly unknown[]): string {
  return hash("sha256", canonical(parts), "base64url");
}

/**
 * The same for a hash that is stored. Where the store is encrypted, it is keyed: whoever reads the store could otherwise find out by trying which arguments
 * have a hash. The store has to be open.
 */
export function storedHash(store: HashingStore, ...parts: readonly unknown[]): StoredHash {
  const key = store.hashKey?.();
  const text = canonical(parts);
  const plain = hash("sha256", text, "base64url");
  if (key === undefined) return { value: plain };
  return { value: createHmac("sha256", key).update(text).digest("base64url"), former: plain };
}

/** Whether a hash that was read of the store is of the same request. */
export function isSameHash({ value, former }: StoredHash, stored: string | null): boolean {
  return stored === value || (former !== undefined && stored === former);
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item ?? null)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1)) // by UTF-16 code units, as the RFC has it
    .map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`);
  return `{${members.join(",")}}`;
}

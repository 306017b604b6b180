import { createHmac, hash } from "node:crypto";
import type { TaskStore } from "../store/store.ts";

/** How a store hashes. */
export type HashingStore = Pick<TaskStore, "hashKey">;

/** The hash of a request in a store's form. */
export interface StoredHash {
  readonly value: string;
  /** In an encrypted store: the hash of requests from before it was encrypted. */
  readonly former?: string;
}

/**
 * Identifies equal requests: SHA-256 over the canonical JSON (RFC 8785) of what names the request, so that the order of an object's keys
 * does not matter. The RFC refuses half a surrogate pair; here it is escaped, so that every request that JSON can carry has a hash.
 */
export function requestHash(...parts: readonly unknown[]): string {
  return hash("sha256", canonical(parts), "base64url");
}

/**
 * The same for a stored hash. In an encrypted store it is keyed: otherwise, readers of the store could find out by trial which arguments
 * have a hash. The store has to be open.
 */
export function storedHash(store: HashingStore, ...parts: readonly unknown[]): StoredHash {
  const key = store.hashKey?.();
  const text = canonical(parts);
  const plain = hash("sha256", text, "base64url");
  if (key === undefined) return { value: plain };
  return { value: createHmac("sha256", key).update(text).digest("base64url"), former: plain };
}

/** Whether a hash read from the store is that of the same request. */
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

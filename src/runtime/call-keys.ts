import { createHmac, hash } from "node:crypto";
import type { Secret } from "../task/secret.ts";

/**
 * Identifies equal requests: SHA-256 over the canonical JSON (RFC 8785) of what names the request, so that the order of an object's keys
 * does not matter. The RFC refuses half a surrogate pair; here it is escaped, so that every request that JSON can carry has a hash.
 */
export function requestHash(...parts: readonly unknown[]): string {
  return hash("sha256", canonical(parts), "base64url");
}

/**
 * The same for a hash that a store searches by, which it cannot encrypt: without the key, readers of the store could find out by trial which
 * arguments have it (HMAC-SHA-256).
 */
export function keyedHash(key: Uint8Array, ...parts: readonly unknown[]): string {
  return createHmac("sha256", key).update(canonical(parts)).digest("base64url");
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

/**
 * The idempotency keys by which equal calls of a caller join, who sent no key. A key has the hash of the call: a keyed one, since stores search by
 * it. While the store has several versions of the hash's key, a call has a key of each.
 */

const prefix = "holdfast/plain:";

export interface SameCall {
  /** The caller's principal; null if the server does not tell callers apart: then its session does. */
  readonly principal: string | null;
  readonly session?: string | undefined;
  readonly tool: string;
  readonly arguments: unknown;
  /** With other claims, such as another tenant, the same arguments mean other data. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
}

/** The keys of a call. */
export interface CallKeys {
  /** That of a task which is made now. */
  readonly key: string;
  /** Those that an earlier task of the same call may have. */
  readonly others: readonly string[];
}

/** The keys of a call; undefined if its caller is unknown. */
export function callKeys(secret: Secret, call: SameCall): CallKeys | undefined {
  const { principal, session = "", tool, arguments: args, claims = {} } = call;
  if (principal === null && session === "") return undefined;
  const about = Object.keys(claims).length === 0 ? [] : [claims];
  // The store keeps the keys of principals apart.
  const start = `${prefix}${principal === null ? session : ""}:`;
  const keyOf = (hashKey: Uint8Array): string => start + keyedHash(hashKey, tool, args ?? {}, ...about);
  return { key: keyOf(secret.current), others: secret.accepted.slice(1).map(keyOf) };
}

/** The key of a further task of the same call. No key of a call contains the separator. */
export function furtherKey(key: string, name: string): string {
  return `${key}#${name}`;
}

/** Whether the server made the key, and not the caller. */
export function isCallKey(key: string | null): key is string {
  return key?.startsWith(prefix) === true;
}

/** The session that such a key names; undefined if it names none. */
export function sessionOfKey(key: string): string | undefined {
  const [call = ""] = key.slice(prefix.length).split("#");
  return call.slice(0, call.lastIndexOf(":")) || undefined;
}

/** Whether a key is of one of these calls, or of a further task of one. */
export function isKeyOf(key: string, calls: readonly string[]): boolean {
  return calls.some((call) => key === call || key.startsWith(furtherKey(call, "")));
}

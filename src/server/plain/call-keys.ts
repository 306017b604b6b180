import type { JsonObject } from "../../generation/message.ts";
import { storedHash, type HashingStore } from "../../runtime/request-hash.ts";
import type { PlainOwner } from "./plain-call.ts";

const prefix = "holdfast/plain:";

/**
 * The idempotency key that joins equal calls of a caller; undefined if the caller is unknown. With other claims, such as another tenant,
 * the same arguments mean other data.
 */
export function callKey(
  store: HashingStore,
  owner: PlainOwner,
  tool: string,
  args: unknown,
  claims: JsonObject = {},
): string | undefined {
  const { principal, session = "" } = owner;
  if (principal === null && session === "") return undefined;
  const about = Object.keys(claims).length === 0 ? [] : [claims];
  // The store keeps the keys of principals apart. Callers without a principal are distinguished by their sessions.
  const hash = storedHash(store, tool, args ?? {}, ...about);
  return `${prefix}${principal === null ? session : ""}:${hash.value}`;
}

/** The key of a further task of the same call. No key of a call contains the separator. */
export function furtherKey(key: string, name: string): string {
  return `${key}#${name}`;
}

/** Whether the server made the key, and not the caller. */
export function isCallKey(key: string | null): key is string {
  return key?.startsWith(prefix) === true;
}

import { HoldfastError } from "../task/fault.ts";
import { isJsonObject, type JsonObject } from "./json-object.ts";
import { metaOf } from "./meta.ts";
import type { CapabilityPlace } from "./task-lines.ts";

/** The key in `_meta` of a call that holds the requestor's idempotency key. */
export const idempotencyKeyMeta = "holdfast/idempotencyKey";

/** For servers that do not say how long they recognise a call: the default of a Holdfast server. */
const usualKeptMs = 24 * 3_600_000;

/**
 * What a server declares under the name of the key: it recognises a repeated call for at least this many ms after its first arrival. Left
 * out if there is no limit.
 */
export function recognition(keptMs: number): { readonly keptMs?: number } {
  return Number.isFinite(keptMs) ? { keptMs } : {};
}

/**
 * How long a server with these capabilities recognises a call (ms after its first arrival), as declared under `place`. Undefined if it
 * recognises none.
 */
export function readKeptMs(server: unknown, place: CapabilityPlace): number | undefined {
  const declared = isJsonObject(server) ? server[place] : undefined;
  const recognised = isJsonObject(declared) ? declared[idempotencyKeyMeta] : undefined;
  if (!isJsonObject(recognised)) return undefined;
  const { keptMs } = recognised;
  return typeof keptMs === "number" && keptMs >= 0 ? keptMs : usualKeptMs;
}

/**
 * `true` in `_meta` of a call that was sent before under the same key, and whose answer was lost: a server that would run it again must
 * refuse it.
 */
export const repeatMeta = "holdfast/repeat";

/** The members of `_meta` for a call with this key. */
export function idempotencyMeta(key: string, repeat: boolean): JsonObject {
  return { [idempotencyKeyMeta]: key, ...(repeat && { [repeatMeta]: true }) };
}

/** In `data` of the error with which such a call is refused. */
export const notRepeatableData = { "holdfast/notRepeatable": true } as const;

export function isRepeat(params: unknown): boolean {
  return metaOf(params)[repeatMeta] === true;
}

/** Whether a call has a key at all; `readIdempotencyKey` checks whether it is valid. */
export function hasIdempotencyKey(params: unknown): boolean {
  return metaOf(params)[idempotencyKeyMeta] !== undefined;
}

/** 22 characters of base64url hold 132 bits, 22 letters and digits 130: too many to guess the key. */
const anonymousMinimum = 22;
const maximum = 255;

/**
 * The idempotency key of a call, if it has one. Without a principal, only the key separates one requestor's calls from another's, so it
 * must be too long to guess; throws `invalid_params` for any other.
 */
export function readIdempotencyKey(
  meta: Readonly<Record<string, unknown>>,
  principal: string | null,
): string | undefined {
  const key = meta[idempotencyKeyMeta];
  if (key === undefined) return undefined;
  const minimum = principal === null ? anonymousMinimum : 1;
  if (typeof key === "string" && key.length >= minimum && key.length <= maximum && isVisibleAscii(key))
    return key;
  throw new HoldfastError(
    "invalid_params",
    `_meta["${idempotencyKeyMeta}"] has to be a string of ${minimum} to ${maximum} visible ASCII characters.`,
  );
}

function isVisibleAscii(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

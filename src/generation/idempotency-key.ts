import { HoldfastError } from "../task/fault.ts";
import { isJsonObject, type JsonObject } from "./json-object.ts";
import { metaOf } from "./meta.ts";
import type { CapabilityPlace } from "./task-lines.ts";

/** Where a requestor puts its idempotency key in `_meta` of a call. */
export const idempotencyKeyMeta = "holdfast/idempotencyKey";

/** For servers that do not say for how long they recognise a call: that of a Holdfast server which is not told otherwise. */
const usualKeptMs = 24 * 3_600_000;

/**
 * What a server declares under the name of the key: that it recognises a repeated call, and for at least how many ms from
 * its first arrival. Without end is left out.
 */
export function recognition(keptMs: number): { readonly keptMs?: number } {
  return Number.isFinite(keptMs) ? { keptMs } : {};
}

/**
 * What a server with these capabilities declares so, under `place` of them: for how many ms from its first arrival it
 * recognises a call. Undefined where it recognises none.
 */
export function readKeptMs(server: unknown, place: CapabilityPlace): number | undefined {
  const declared = isJsonObject(server) ? server[place] : undefined;
  const recognised = isJsonObject(declared) ? declared[idempotencyKeyMeta] : undefined;
  if (!isJsonObject(recognised)) return undefined;
  const { keptMs } = recognised;
  return typeof keptMs === "number" && keptMs >= 0 ? keptMs : usualKeptMs;
}

/**
 * `true` in `_meta` of a call that was sent before under the same key and whose answer was lost: a server that would
 * run it a second time has to refuse it.
 */
export const repeatMeta = "holdfast/repeat";

/** What a call has in `_meta` of its key. */
export function idempotencyMeta(key: string, repeat: boolean): JsonObject {
  return { [idempotencyKeyMeta]: key, ...(repeat && { [repeatMeta]: true }) };
}

/** In `data` of the error that refuses such a call. */
export const notRepeatableData = { "holdfast/notRepeatable": true } as const;

export function isRepeat(params: unknown): boolean {
  return metaOf(params)[repeatMeta] === true;
}

/** Whether a call has a key at all; whether it is a good one, `readIdempotencyKey` says. */
export function hasIdempotencyKey(params: unknown): boolean {
  return metaOf(params)[idempotencyKeyMeta] !== undefined;
}

/** 22 characters of base64url hold 132 bits, 22 letters and digits 130: enough that nobody can guess the key. */
const anonymousMinimum = 22;
const maximum = 255;

/**
 * The idempotency key of a call, if it has one. Without a principal the key is all that separates one requestor's
 * calls from another's, so it must be too long to be guessed; throws `invalid_params` for any other.
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

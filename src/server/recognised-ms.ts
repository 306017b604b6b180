import type { RuntimeOptions } from "../runtime/options.ts";
import type { Registry } from "../runtime/tool/registry.ts";

/**
 * The least time, in ms from its creation, for which a call of any tool is found again by its idempotency key: as long
 * as its task is kept. Infinity where that is without end. Tools that make no task refuse a repeat at any time.
 */
export function recognisedMs(registry: Registry, options: Pick<RuntimeOptions, "ttlMs">): number {
  const lives = registry
    .all()
    .filter(({ task }) => task !== "forbidden")
    .map(({ ttlMs }) => (ttlMs === undefined ? options.ttlMs : ttlMs) ?? Infinity);
  return Math.min(...lives);
}

/**
 * The same for clients who have a say in it. A longer life than `maxTtlMs` is cut to that; a client that asks for less
 * than this knows it, and is never given less than it asked for.
 */
export function recognisedMsOfAsked(
  registry: Registry,
  options: Pick<RuntimeOptions, "ttlMs" | "maxTtlMs">,
): number {
  return Math.min(recognisedMs(registry, options), options.maxTtlMs);
}

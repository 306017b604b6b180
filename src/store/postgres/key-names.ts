import type { WireName } from "../store.ts";

/** One name for an idempotency key and its principal; all callers that are not distinguished have the same principal. */
export function keyName(principal: string | null, key: string): string {
  return JSON.stringify([principal ?? "", key]);
}

/** The same for a wire id. */
export function wireName({ generation, scope, wireId }: WireName): string {
  return JSON.stringify([generation, scope, wireId]);
}

import type { WireName } from "../store.ts";

/** One name for an idempotency key and the principal whose it is; callers who are not told apart are one. */
export function keyName(principal: string | null, key: string): string {
  return JSON.stringify([principal ?? "", key]);
}

/** The same of a wire id. */
export function wireName({ generation, scope, wireId }: WireName): string {
  return JSON.stringify([generation, scope, wireId]);
}

import type { TimeSpan } from "../task/time.ts";
import { number, readOptions, settingsOf, tableOf, time } from "../options/options.ts";
import type { Clock } from "./clock.ts";

class DeclaredBackoff {
  /** The first pause. Default 1 second. */
  readonly firstMs?: TimeSpan = time({ min: 0, fractions: true, default: 1_000 });
  /** The factor by which each pause is longer than the one before. Default 2. */
  readonly factor?: number = number({ min: 1, fractions: true, default: 2 });
  /** The longest pause. Default: 1 minute, or `firstMs` if that is longer. */
  readonly maxMs?: TimeSpan = time({ min: 0, fractions: true });
}

/**
 * The pauses between retries, in milliseconds. A random part of each, up to half, is taken off, so that things that failed together do not
 * retry together.
 */
export interface Backoff extends DeclaredBackoff {}

export const backoffOptions = tableOf<Backoff>(DeclaredBackoff);

interface GrowingPause {
  readonly firstMs: number;
  readonly factor: number;
  readonly maxMs?: number | undefined;
}

const defaultMaxMs = 60_000;

const longestGrownMs = 3_600_000;

/** The pause in ms after that many failures in a row. */
export function retryPause(failures: number, clock: Pick<Clock, "randomBytes">, given: Backoff = {}): number {
  const {
    firstMs,
    factor,
    maxMs = Math.max(firstMs, defaultMaxMs),
  } = settingsOf<Backoff, "maxMs">(backoffOptions, given);
  return growingPause({ firstMs, factor, maxMs }, failures, 0.5, clock);
}

/** The pause in ms after that many others, of which a random part of up to `jitter` is taken off. */
export function growingPause(
  { firstMs, factor, maxMs = Math.max(firstMs, longestGrownMs) }: GrowingPause,
  count: number,
  jitter: number,
  clock: Pick<Clock, "randomBytes">,
): number {
  if (firstMs === 0) return 0;
  const full = Math.min(firstMs * factor ** (count - 1), maxMs);
  const [random = 0, more = 0] = jitter === 0 ? [] : clock.randomBytes(2);
  return Math.round(full * (1 - (jitter * (random * 256 + more)) / 65_536));
}

/** What is wrong with a backoff whose values are each right; undefined if nothing is. */
export function backoffProblem(what: string, given: Backoff): string | undefined {
  const { firstMs = 0, maxMs = firstMs } = readOptions(backoffOptions, given);
  if (maxMs >= firstMs) return undefined;
  return `${what}: maxMs is ${maxMs}, which is less than firstMs (${firstMs})`;
}

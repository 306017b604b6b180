import { optionProblem, type OptionNames } from "../task/option-names.ts";
import type { Clock } from "./clock.ts";

/**
 * The pauses between retries, in milliseconds. A random part of each, up to half, is taken off, so that things that failed together do not
 * retry together.
 */
export interface Backoff {
  /** The first pause; default 1 second. */
  readonly firstMs?: number;
  /** The factor by which each pause is longer than the one before, at least 1; default 2. */
  readonly factor?: number;
  /** The longest pause; default 1 minute, or `firstMs` if that is longer. */
  readonly maxMs?: number;
}

const defaultMaxMs = 60_000;

/** The pause in ms after that many failures in a row. */
export function retryPause(
  failures: number,
  clock: Pick<Clock, "randomBytes">,
  { firstMs = 1_000, factor = 2, maxMs = Math.max(firstMs, defaultMaxMs) }: Backoff = {},
): number {
  if (firstMs === 0) return 0;
  const full = Math.min(firstMs * factor ** (failures - 1), maxMs);
  const [random = 0, more = 0] = clock.randomBytes(2);
  return Math.round(full * (1 - (random * 256 + more) / 131_072));
}

const names: OptionNames<Backoff> = { firstMs: true, factor: true, maxMs: true };

/** What is wrong with a backoff, which JavaScript does not check; undefined if nothing is. */
export function backoffProblem(what: string, given: Backoff): string | undefined {
  const problem = optionProblem(what, given, names);
  if (problem !== undefined) return problem;
  const { firstMs = 0, factor = 1, maxMs = firstMs } = given;
  const numbers = Object.entries({ firstMs, maxMs });
  for (const [name, ms] of numbers)
    if (!Number.isFinite(ms) || ms < 0) return `${what}: ${name} has to be a number of at least 0.`;
  if (!Number.isFinite(factor) || factor < 1) return `${what}: factor has to be a number of at least 1.`;
  if (maxMs < firstMs) return `${what}: maxMs is ${maxMs} and smaller than firstMs, which is ${firstMs}.`;
  return undefined;
}

import type * as fc from "fast-check";
import { fullForm } from "../full-form.ts";

const { HOLDFAST_FUZZ_RUNS, HOLDFAST_FUZZ_SEED, HOLDFAST_FUZZ_PATH } = process.env;
const factor = Number(HOLDFAST_FUZZ_RUNS ?? (fullForm ? 5 : 0.25));

/** For vitest: what a property may take, on a busy machine too. */
export const fuzzTimeoutMs = 60_000 * Math.max(1, factor);

/**
 * How long a property is tried. HOLDFAST_FUZZ_RUNS=20 makes twenty times as many cases; a failure prints the
 * seed and the path that HOLDFAST_FUZZ_SEED and HOLDFAST_FUZZ_PATH take to repeat it.
 */
export function fuzzRuns(numRuns: number): fc.Parameters<unknown> {
  return {
    numRuns: Math.ceil(numRuns * factor),
    // Ends the search for the smallest input that fails while there is time to print it.
    interruptAfterTimeLimit: fuzzTimeoutMs / 2,
    ...(HOLDFAST_FUZZ_SEED === undefined ? {} : { seed: Number(HOLDFAST_FUZZ_SEED) }),
    ...(HOLDFAST_FUZZ_PATH === undefined ? {} : { path: HOLDFAST_FUZZ_PATH }),
  };
}

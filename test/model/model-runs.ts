import type * as fc from "fast-check";
import { fullForm } from "../full-form.ts";

const { HOLDFAST_MODEL_RUNS, HOLDFAST_MODEL_SEED, HOLDFAST_MODEL_PATH } = process.env;
const factor = Number(HOLDFAST_MODEL_RUNS ?? (fullForm ? 2 : 0.5));

/** For vitest: what a property may take, on a busy machine too. */
export const modelTimeoutMs = 240_000 * Math.max(1, factor);

/**
 * How long a property is tried. For a long run, HOLDFAST_MODEL_RUNS=100 makes a hundred times as many; a failure
 * prints the seed and the path that HOLDFAST_MODEL_SEED and HOLDFAST_MODEL_PATH take to repeat it.
 */
export function modelRuns(numRuns: number): fc.Parameters<unknown> {
  return {
    numRuns: Math.ceil(numRuns * factor),
    // Ends the search for the smallest sequence that fails while there is time to print it.
    interruptAfterTimeLimit: modelTimeoutMs / 2,
    ...(HOLDFAST_MODEL_SEED === undefined ? {} : { seed: Number(HOLDFAST_MODEL_SEED) }),
    ...(HOLDFAST_MODEL_PATH === undefined ? {} : { path: HOLDFAST_MODEL_PATH }),
  };
}

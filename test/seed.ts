import * as fc from "fast-check";

const seed = process.env["HOLDFAST_SEED"];

// A set-up file of vitest: with it, all properties of a run look at the same random cases as in the last run with this seed.
if (seed !== undefined) fc.configureGlobal({ seed: Number(seed) });

const mode = process.env["HOLDFAST_TEST"];

/** True under `npm run test:slow` ("slow") and the suites with a command of their own ("full"): what has a short form in `npm test` runs in full. */
export const fullForm = mode === "full" || mode === "slow";

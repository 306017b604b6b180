/** True under `npm run test:slow`: suites that have a short form in `npm test` run in full. */
export const fullForm = process.env["HOLDFAST_TEST"] === "full";

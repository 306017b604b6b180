/** True under `npm run test:full`. Tests that try much, or many variants, have a short form for all other runs. */
export const fullForm = process.env["HOLDFAST_TEST"] === "full";

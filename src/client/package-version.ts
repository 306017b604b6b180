/** The version in package.json, which a test compares: what is bundled has no package.json to read. */
export const packageVersion = "0.1.0";

/** The version in package.json. A constant, since a bundle has no package.json; a test compares them. */
export const packageVersion = "0.1.0";

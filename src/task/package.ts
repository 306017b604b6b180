import { HoldfastError } from "./fault.ts";

/** The version in package.json. A constant, since a bundle has no package.json; a test compares them. */
export const packageVersion = "0.1.0";

/** The first Node 22 with `node:sqlite` without a flag, and everything else used here. */
const minimum = { major: 22, minor: 18 };

/** One line that says why this Node is too old; undefined if it is not. */
export function nodeVersionProblem(version: string): string | undefined {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  const found = { major: Number(major), minor: Number(minor) };
  if (found.major > minimum.major || (found.major === minimum.major && found.minor >= minimum.minor)) {
    return undefined;
  }
  return `Holdfast needs Node ${minimum.major}.${minimum.minor} or later; this is Node ${version.replace(/^v/, "")}.`;
}

/** Throws `node_too_old` before anything loads a module that an old Node lacks. Undefined: this is no Node. */
export function assertNodeVersion(version: string | undefined): void {
  if (version === undefined) return;
  const problem = nodeVersionProblem(version);
  if (problem !== undefined) throw new HoldfastError("node_too_old", problem);
}

import { HoldfastError } from "../../task/fault.ts";

/** The first Node 22 that has all of `node:sqlite` that is used here, without a flag. */
const minimum = { major: 22, minor: 18 };

/** One line that says why this Node cannot run the SQLite store, or undefined where it can. */
export function nodeVersionProblem(version: string): string | undefined {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  const found = { major: Number(major), minor: Number(minor) };
  if (found.major > minimum.major || (found.major === minimum.major && found.minor >= minimum.minor)) {
    return undefined;
  }
  return `Holdfast's SQLite store needs Node ${minimum.major}.${minimum.minor} or later; this is Node ${version.replace(/^v/, "")}.`;
}

/** Throws `node_too_old` before anything asks an old Node for a module that it does not have. */
export function assertNodeVersion(): void {
  const problem = nodeVersionProblem(process.versions.node);
  if (problem !== undefined) throw new HoldfastError("node_too_old", problem);
}

import { HoldfastError } from "./fault.ts";

/** The first Node 22 that has `node:sqlite` without a flag, and all else that is used here. */
const minimum = { major: 22, minor: 18 };

/** One line that says why this Node is too old, or undefined where it is not. */
export function nodeVersionProblem(version: string): string | undefined {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  const found = { major: Number(major), minor: Number(minor) };
  if (found.major > minimum.major || (found.major === minimum.major && found.minor >= minimum.minor)) {
    return undefined;
  }
  return `Holdfast needs Node ${minimum.major}.${minimum.minor} or later; this is Node ${version.replace(/^v/, "")}.`;
}

/** Throws `node_too_old` before anything asks an old Node for a module that it does not have. */
export function assertNodeVersion(version: string): void {
  const problem = nodeVersionProblem(version);
  if (problem !== undefined) throw new HoldfastError("node_too_old", problem);
}

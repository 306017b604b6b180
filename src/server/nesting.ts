import { HoldfastError } from "../task/fault.ts";

/**
 * The fault of a message that has too many objects and lists in one another. JSON of any depth can be parsed, and much
 * of what comes then walks it by recursion: schemas, hashes, `JSON.stringify`. They all end early on a deep one.
 */
export function nestingFault(message: unknown, levels: number): HoldfastError | undefined {
  if (!deeperThan(message, levels)) return undefined;
  return new HoldfastError("invalid_request", `The message is nested more than ${levels} levels deep.`);
}

/** Whether parsed JSON has more than so many levels; needs no stack, however many there are. */
export function deeperThan(json: unknown, levels: number): boolean {
  let level = [json].filter(isContainer);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === levels) return true;
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
  return false;
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

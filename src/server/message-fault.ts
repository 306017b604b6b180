import { HoldfastError } from "../task/fault.ts";

/**
 * The fault of parsed JSON that cannot be taken for a message. One that has too many objects and lists in one another:
 * JSON of any depth can be parsed, and much of what comes then walks it by recursion: schemas, hashes, `JSON.stringify`.
 * They all end early on a deep one. And one with a number that JavaScript has not: it is read as infinite and written as
 * null, so that a tool would run on other arguments than were checked. Needs no stack, however deep the JSON is.
 */
export function messageFault(message: unknown, levels: number): HoldfastError | undefined {
  let values: readonly unknown[] = [message];
  for (let level = 0; ; level++) {
    if (values.some(isOutOfRange)) return invalid("The message has a number that is out of range.");
    const containers = values.filter(isContainer);
    if (containers.length === 0) return undefined;
    if (level === levels) return invalid(`The message is nested more than ${levels} levels deep.`);
    values = containers.flatMap((container): unknown[] => Object.values(container));
  }
}

function isOutOfRange(value: unknown): boolean {
  return typeof value === "number" && !Number.isFinite(value);
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function invalid(message: string): HoldfastError {
  return new HoldfastError("invalid_request", message);
}

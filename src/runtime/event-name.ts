import { HoldfastError } from "../task/fault.ts";

const longest = 255;

/** Throws for what is no name of an event, and for one that is too long to be found by. */
export function assertEventName(name: unknown): void {
  assertText(name, "The name of an event");
}

/** The same of what tells an event from another one. */
export function assertDedupeId(dedupeId: unknown): void {
  assertText(dedupeId, "The dedupeId of an event");
}

function assertText(text: unknown, what: string): void {
  if (typeof text !== "string" || text === "") {
    throw new TypeError(
      `${what} has to be a string that is not empty; it is ${text === "" ? "empty" : typeof text}.`,
    );
  }
  if (text.length <= longest) return;
  throw new HoldfastError("too_large", `${what} is longer than ${longest} characters.`);
}

import { HoldfastError } from "../task/fault.ts";

const longest = 255;

/** Throws for an invalid name of an event, and for one too long for an index. */
export function assertEventName(name: unknown): void {
  assertText(name, "The name of an event");
}

/** The same for a `dedupeId`. */
export function assertDedupeId(dedupeId: unknown): void {
  assertText(dedupeId, "The dedupeId of an event");
}

function assertText(text: unknown, what: string): void {
  if (typeof text !== "string" || text === "") {
    throw new TypeError(`${what} must be a non-empty string${text === "" ? "" : `, not ${typeof text}`}.`);
  }
  if (text.length <= longest) return;
  throw new HoldfastError("too_large", `${what} is longer than ${longest} characters.`);
}

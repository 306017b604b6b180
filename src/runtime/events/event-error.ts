import { cutText } from "../../task/stored-text.ts";
import { describeThrown, thrownStack } from "../tool/tool-errors.ts";
import type { EventError } from "./server-event.ts";

/** In code points. Log lines are limited too, and authors can throw anything. */
const longestMessage = 4_096;
const longestStack = 16_384;

/** A thrown value as an event contains it. Never throws. */
export function eventError(thrown: unknown): EventError {
  const message = cutText(describeThrown(thrown), longestMessage);
  try {
    if (!(thrown instanceof Error)) return { name: "Error", message };
    const stack = thrownStack(thrown);
    const where = stack === undefined ? {} : { stack: cutText(stack, longestStack) };
    return { name: String(thrown.name), message, ...codeOf(thrown), ...where };
  } catch {
    return { name: "Error", message }; // its getters are the author's
  }
}

/** The same for an error stored as JSON. */
export function storedEventError(json: string): EventError {
  const { name, message, code } = JSON.parse(json) as EventError;
  return { name, message: cutText(message, longestMessage), ...codeOf({ code }) };
}

function codeOf(error: object): { readonly code?: string | number } {
  const code = "code" in error ? error.code : undefined;
  return typeof code === "string" || typeof code === "number" ? { code } : {};
}

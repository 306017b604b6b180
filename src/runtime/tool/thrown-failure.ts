/** What is stored of a value that a handler threw, so that operators see where, and which failures have the same cause. */

import { cutStack } from "../../task/attempts.ts";
import { siteIn, type Failure } from "../../task/cause.ts";
import type { HandlerEnd } from "./tool-outcome.ts";
import { errorParts, thrownStack } from "./tool-errors.ts";

export function stackOf(end: HandlerEnd): { stack?: string } {
  const stack = end.threw ? thrownStack(end.error) : undefined;
  return stack === undefined ? {} : { stack: cutStack(stack) };
}

/** `step`: the key of the step that rejected with it, if one did. Never throws. */
export function failureOf(thrown: unknown, step: string | undefined): Failure {
  const site = step === undefined ? siteIn(thrownStack(thrown)) : undefined;
  return { ...namesOf(thrown), ...(step !== undefined && { step }), ...(site !== undefined && { site }) };
}

function namesOf(thrown: unknown): Pick<Failure, "name" | "code"> {
  try {
    if (!(thrown instanceof Error)) return {};
    const { name, code } = errorParts(thrown);
    return { name, ...(code !== undefined && { code }) };
  } catch {
    return {}; // its traps are the author's
  }
}

import { HoldfastError } from "../../task/fault.ts";
import { optionProblem, type OptionNames } from "../../task/option-names.ts";
import { backoffProblem } from "../backoff.ts";
import type { StepOptions } from "../tool/task-context.ts";

const names: OptionNames<StepOptions> = { retries: true, timeoutMs: true, backoff: true, retryIf: true };

/** Throws `configuration` for options of a step that could not work. */
export function assertStepOptions(given: StepOptions): void {
  const problem = optionProblem("task.step", given, names) ?? valueProblem(given);
  if (problem !== undefined) throw new HoldfastError("configuration", problem);
}

function valueProblem({ retries, timeoutMs, backoff, retryIf }: StepOptions): string | undefined {
  const isCount = retries === undefined || retries === Infinity || Number.isSafeInteger(retries);
  if (!isCount || (retries ?? 0) < 0) return "task.step: retries has to be a whole number of at least 0.";
  if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && timeoutMs >= 0))
    return "task.step: timeoutMs has to be a number of at least 0.";
  if (retryIf !== undefined && typeof retryIf !== "function")
    return "task.step: retryIf has to be a function.";
  return backoff === undefined ? undefined : backoffProblem("task.step: backoff", backoff);
}

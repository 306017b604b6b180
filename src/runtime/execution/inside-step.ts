import { AsyncLocalStorage } from "node:async_hooks";
import { HoldfastError } from "../../task/fault.ts";
import type { JournalKey } from "../../task/journal.ts";
import type { Run } from "../journal/run.ts";

/** Inside a step's function: whose step it is. One begun there could not be told from its parent on replay. */
const insideStep = new AsyncLocalStorage<Run>();

/** Throws `nested_step` for a journalled call from inside a step of the same run. */
export function assertOutsideStep(run: Run, key: JournalKey): void {
  if (insideStep.getStore() !== run) return;
  throw new HoldfastError(
    "nested_step",
    `${JSON.stringify(key)} was begun inside a step. Begin it in the handler itself, before or after the step.`,
  );
}

/** Runs the function of a step. */
export function inStep<T>(run: Run, fn: () => Promise<T>): Promise<T> {
  return insideStep.run(run, fn);
}

import { HoldfastError } from "../../task/fault.ts";
import type { JournalKey } from "../../task/journal.ts";
import type { StoreClock } from "../clock.ts";
import type { Run } from "../journal/run.ts";
import type { RunVersions } from "../tool/tool-config.ts";
import { runStep } from "./step.ts";
import type { StepEffects } from "./step-try.ts";

/** Whether a task began under the version `since` of its tool, or a later one. Throws if the tool has no such version. */
export function isSince({ task, code }: RunVersions, key: JournalKey, since: number): boolean {
  if (!Number.isSafeInteger(since) || since < 1) {
    throw new RangeError(`A version must be a whole number of at least 1, not ${String(since)}.`);
  }
  if (since <= code) return task >= since;
  throw new HoldfastError(
    "configuration",
    `task.version(${JSON.stringify(key)}, ${since}) asks for a version that the tool does not have: its version is ${code}. Raise version when you make the change.`,
  );
}

/** Answers `task.version`. Journalled as a step, so that a recording shows which way a task went. */
export async function taskVersion(
  run: Run,
  effects: StepEffects,
  clock: StoreClock,
  key: JournalKey,
  since: number,
): Promise<boolean> {
  const answer = isSince(run.setup.versions, key, since);
  const journalled: unknown = await runStep(run, effects, clock, key, {}, () => answer);
  if (typeof journalled === "boolean") return journalled;
  throw run.mismatch({
    key: run.keys.stored(key),
    had: "step",
    doing: { kind: "step", request: "task.version" },
  });
}

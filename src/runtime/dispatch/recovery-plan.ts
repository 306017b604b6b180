import { hasExpired } from "../../task/expiry.ts";
import { errorOutcome } from "../../task/outcome.ts";
import { type TaskRecord, versionOf } from "../../task/record.ts";
import { endingOf, type Ending } from "../../task/status-text.ts";
import { blamedCrashes } from "../../task/suspicion.ts";
import type { Refusal } from "../blocking.ts";
import type { RuntimeSettings } from "../options.ts";
import { isRepeatable } from "../tool/crash-rule.ts";
import type { Tool } from "../tool/tool.ts";
import { toolAtVersion } from "../tool/tool-config.ts";

/** What to do with a claimed task. */
export type ClaimPlan =
  | { readonly do: "run"; readonly tool: Tool }
  /** It began under a newer version of the tool. */
  | { readonly do: "leave" }
  /** It has expired, and no sweep has ended it yet. */
  | { readonly do: "end" }
  | { readonly do: "cancel" }
  | { readonly do: "fail"; readonly ending: Ending };

/** Applies a tool's `onCrash` and the limit on crashes (guarantee 5). */
export function planClaimed(
  task: TaskRecord,
  tool: Tool,
  { maxCrashes }: Pick<RuntimeSettings, "maxCrashes">,
  now: number,
): ClaimPlan {
  if (hasExpired(task, now)) return { do: "end" };
  const runs = toolAtVersion(tool, versionOf(task));
  // The newer version of the tool decides what happens to it.
  if (runs === undefined) return { do: "leave" };
  const isCancelled = task.cancelRequestedAt !== null;
  // Its handler runs with its signal aborted, so that it can stop what it started elsewhere.
  if (isCancelled && !(task.journalled && mayRun(task, tool))) return { do: "cancel" };
  if (blamedCrashes(task) >= maxCrashes) {
    return fail(
      `Gave up: the server crashed ${task.crashes} times in a row while this task was running, without any progress in between.`,
    );
  }
  if (!mayRun(task, tool)) {
    return fail(interrupted(task.tool));
  }
  return { do: "run", tool: runs };
}

/** Why a task is blocked whose tool did not come back within the grace period. */
export function toolMissing(tool: string): Refusal {
  const problem = `No process has the tool "${tool}".`;
  return { reason: "tool", problem, key: null, was: `the tool "${tool}"`, is: null, version: null };
}

/** Why a task is blocked for whose version no process came within the grace period. */
export function versionMissing(task: Pick<TaskRecord, "toolVersion">, { name, version }: Tool): Refusal {
  const began = versionOf(task);
  const problem = `The task began with version ${began} of the tool "${name}", which no process has.`;
  return {
    reason: "version",
    problem,
    key: null,
    was: `version ${began}`,
    is: `version ${version}`,
    version,
  };
}

/** Why a task that cannot run again fails. */
export function interrupted(tool: string): string {
  return `The server stopped while "${tool}" was running. The tool is not marked as safe to run again, so it was not run again. It may have done part of its work.`;
}

/** Whether the tool allows the task to run, possibly again. */
export function mayRun(task: TaskRecord, tool: Tool): boolean {
  const isFirstAttempt = task.attempt === 1;
  if (isFirstAttempt || tool.onCrash === "resume") return true;
  if (tool.onCrash === "fail") return false;
  return isRepeatable(tool) || task.journalled || tool.retry !== undefined;
}

function fail(message: string): ClaimPlan {
  return { do: "fail", ending: failure(message) };
}

function failure(message: string): Ending {
  return endingOf(errorOutcome({ code: -32603, message }));
}

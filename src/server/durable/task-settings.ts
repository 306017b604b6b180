import { HoldfastError } from "../../task/fault.ts";
import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import type { TaskSettings } from "./register-tool.ts";

const settingNames: OptionNames<TaskSettings> = {
  mode: true,
  requires: true,
  onCrash: true,
  park: true,
  promoteAfterMs: true,
  immediateResponse: true,
  plain: true,
  plainDeadlineMs: true,
  joinCalls: true,
  concurrency: true,
  priority: true,
  ttlMs: true,
  pollIntervalMs: true,
  maxRunMs: true,
  inputTimeoutMs: true,
  timeoutMs: true,
  version: true,
  retry: true,
};

/** The value of `task` in a tool's config. JavaScript callers can pass anything: throws `configuration`. */
export function settingsOf(name: string, task: unknown): TaskSettings {
  const given = typeof task === "object" && task !== null && !Array.isArray(task) ? task : { mode: task };
  assertOptionNames(`task of tool "${name}"`, given, settingNames);
  const settings: TaskSettings = given;
  const { mode = "optional" } = settings;
  if (mode === "optional" || mode === "required") return settings;
  throw wrongTool(
    name,
    `has an invalid task: use "optional", "required" or an object of options, not ${JSON.stringify(mode)}, or leave it out if the tool never runs as a task`,
  );
}

/** What to throw for a tool with `task` that cannot be as it is. */
export function wrongTool(name: string, problem: string): HoldfastError {
  return new HoldfastError("configuration", `Tool "${name}" ${problem}.`);
}

import { HoldfastError } from "../../task/fault.ts";
import { assertOptions, shown } from "../../options/options.ts";
import { taskSettings, type TaskSettings } from "./register-tool.ts";

/** The value of `task` in a tool's config. JavaScript callers can pass anything: throws `configuration`. */
export function settingsOf(name: string, task: unknown): TaskSettings {
  if (typeof task === "object" && task !== null && !Array.isArray(task)) {
    assertOptions(`task of tool "${name}"`, task, taskSettings);
    return task;
  }
  if (task === "optional" || task === "required") return { mode: task };
  throw wrongTool(
    name,
    `has an invalid task: use "optional", "required" or an object of options, not ${shown(task)}, or leave it out if the tool never runs as a task`,
  );
}

/** What to throw for a tool with `task` that cannot be as it is. */
export function wrongTool(name: string, problem: string): HoldfastError {
  return new HoldfastError("configuration", `Tool "${name}" ${problem}.`);
}

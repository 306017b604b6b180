import { HoldfastError } from "../../task/fault.ts";
import { generations, type GenerationName, type Origin } from "../../task/record.ts";
import { assertMayCall } from "../../task/scopes.ts";
import type { Tool } from "../tool/tool.ts";

/** The task whose handler calls. */
interface CallingTask {
  readonly origin: Origin;
  readonly generation: GenerationName;
}

/** Throws if the handler of a task may not call a tool, under the same rules as for the task's caller. */
export function assertCallable(tool: Tool, { origin, generation }: CallingTask): void {
  if (tool.task === "forbidden") {
    throw new HoldfastError(
      "invalid_params",
      `Tool "${tool.name}" cannot be called from a task, because it never runs as a task (task: "forbidden").`,
    );
  }
  assertMayCall(origin, tool.name);
  const missing = tool.requires.filter((capability) => origin.capabilities[capability] === undefined);
  if (missing.length === 0) return;
  throw new HoldfastError(
    generations[generation].undeclared,
    `Tool "${tool.name}" cannot be called: the client of this task did not declare ${missing.join(", ")}.`,
    { data: { requiredCapabilities: Object.fromEntries(missing.map((name) => [name, {}])) } },
  );
}

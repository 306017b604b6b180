import type { TaskListening } from "../../generation/2026-07-28-listen.ts";
import {
  declaresTasks,
  missingCapabilities,
  tasksCapability,
  type Capabilities,
} from "../../generation/2026-07-28.ts";
import { lacking } from "../plain/capabilities.ts";
import type { PlainPolicies } from "../plain/plain-policies.ts";
import { missingForInput, type InputMethod } from "../../task/journal.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import type { JsonObject } from "../../generation/message.ts";
import { HoldfastError } from "../../task/fault.ts";

/** Whether a call of `tool` becomes a task (X-006, A-34). */
export function becomesTask(tool: Tool, capabilities: Capabilities): boolean {
  return tool.task !== "forbidden" && declaresTasks(capabilities);
}

/**
 * The fault of a call that needs capabilities its client did not declare, naming all of them; otherwise undefined. Without the extension,
 * questions are asked in rounds of the call, or answered by a polling tool.
 */
export function missingForCall(
  tool: Tool,
  capabilities: Capabilities,
  policies: PlainPolicies,
): HoldfastError | undefined {
  const isPlain = !declaresTasks(capabilities);
  const missing = {
    ...(tool.task === "required" && isPlain && tasksCapability),
    ...missingCapabilities(
      lacking(tool, capabilities, isPlain ? policies.of(tool) : undefined),
      capabilities,
    ),
  };
  return Object.keys(missing).length === 0 ? undefined : missingCapability(`Tool ${tool.name}`, missing);
}

/** The fault of a `tasks/*` message whose client did not declare the extension (X-095). */
export function missingForMethod(method: string, capabilities: Capabilities): HoldfastError | undefined {
  return declaresTasks(capabilities) ? undefined : missingTasks(method);
}

/** The fault of a listen request for tasks whose client did not declare the extension (X-087, A-28); logs and outputs need nothing. */
export function missingForListen(
  { taskIds }: Pick<TaskListening, "taskIds">,
  capabilities: Capabilities,
): HoldfastError | undefined {
  return taskIds === undefined ? undefined : missingForMethod("Listening to tasks", capabilities);
}

/** The fault of what can only be done for a client that declares the extension (X-009). */
export function missingTasks(what: string): HoldfastError {
  return missingCapability(what, tasksCapability);
}

/** The fault of a question that its client did not declare to take, else undefined (X-B-011). */
export function missingForQuestion(
  key: string,
  method: InputMethod,
  params: JsonObject,
  capabilities: Capabilities,
): HoldfastError | undefined {
  const missing = missingForInput(method, params, capabilities);
  return missing === undefined ? undefined : missingCapability(`The question "${key}"`, missing);
}

function missingCapability(what: string, required: Capabilities): HoldfastError {
  const { extensions, ...others } = required;
  const names = [...(extensions === undefined ? [] : ["the tasks extension"]), ...Object.keys(others)];
  return new HoldfastError(
    "missing_capability",
    `${what} needs client capabilities that this request does not declare: ${names.join(", ")}.`,
    { data: { requiredCapabilities: required } },
  );
}

import { inputMethods } from "../task/input.ts";
import type { TaskRecord } from "../task/record.ts";
import { metaOf } from "./meta.ts";

/**
 * The key in `_meta` of a task that names the called tool, so that readers of a list know what each task does. Left out for other requests.
 */
export const toolMeta = "holdfast/tool";

export interface ToolMeta {
  readonly [toolMeta]: string;
}

/** The `_meta` of a task on the wire; left out if the task is not a tool call. */
export function toolMetaOf(task: TaskRecord): { readonly _meta?: ToolMeta } {
  const tool = calledTool(task);
  return tool === undefined ? {} : { _meta: { [toolMeta]: tool } };
}

/** The tool that the task calls. For a question that runs as a task on the client, the record holds the question's method there. */
export function calledTool({ method, tool }: TaskRecord): string | undefined {
  const isQuestion = inputMethods.some((each) => each === tool);
  return method === "tools/call" && !isQuestion ? tool : undefined;
}

/** The tool that a task on the wire names, if its server names one. */
export function toolOf(task: unknown): string | undefined {
  const tool = metaOf(task)[toolMeta];
  return typeof tool === "string" && tool !== "" ? tool : undefined;
}

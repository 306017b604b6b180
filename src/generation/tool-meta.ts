import { inputMethods } from "../task/input.ts";
import type { TaskRecord } from "../task/record.ts";
import { metaOf } from "./meta.ts";

/**
 * Where a task says in `_meta` which tool's call it is, so that who finds it in a list knows what it does. A task of another
 * request does not say it.
 */
export const toolMeta = "holdfast/tool";

export interface ToolMeta {
  readonly [toolMeta]: string;
}

/** The member `_meta` of a task on the wire; none for a task that is no tool's call. */
export function toolMetaOf(task: TaskRecord): { readonly _meta?: ToolMeta } {
  const tool = calledTool(task);
  return tool === undefined ? {} : { _meta: { [toolMeta]: tool } };
}

/** The tool whose call the task is. The record of a question that a client takes as a task has the question's method there. */
export function calledTool({ method, tool }: TaskRecord): string | undefined {
  const isQuestion = inputMethods.some((each) => each === tool);
  return method === "tools/call" && !isQuestion ? tool : undefined;
}

/** The tool that a task on the wire names, if its server names one. */
export function toolOf(task: unknown): string | undefined {
  const tool = metaOf(task)[toolMeta];
  return typeof tool === "string" && tool !== "" ? tool : undefined;
}

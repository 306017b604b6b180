import type { Run } from "../journal/run.ts";
import type { GiveBack } from "../limits/limits.ts";
import type { Services } from "../services.ts";
import { keepDetails } from "../tool/received-request.ts";
import { runToEnd, type HandlerEnd } from "../tool/tool-outcome.ts";
import type { TaskContext } from "../tool/task-context.ts";
import type { Tool } from "../tool/tool.ts";
import type { HeldRun } from "./held-run.ts";
import type { LoadedTask } from "./load-task.ts";
import { makeContext, type CallContext } from "./make-context.ts";
import { prepareInTask } from "./prepare-in-task.ts";

/** Runs the handler of a held task with the task's stored data. Never rejects. */
export async function runHandler(
  run: Run,
  held: HeldRun,
  tool: Tool,
  loaded: LoadedTask,
  call: CallContext,
  { clock, options }: Services,
): Promise<HandlerEnd> {
  let giveBack: GiveBack | undefined;
  const contextFor = async (validated: unknown): Promise<TaskContext> => {
    const prepared =
      loaded.origin.prepareInTask === true
        ? await prepareInTask(tool, validated, run, held.effects, clock, call.caller)
        : loaded.prepared;
    if (tool.limit !== undefined) giveBack = await held.takePermit(tool.limit);
    const context = makeContext(run, held.effects, clock, call, prepared);
    return keepDetails(context, { received: call.received, ...loaded });
  };
  const end = await runToEnd(tool, loaded.arguments, contextFor, options.maxBodyBytes);
  giveBack?.();
  return end;
}

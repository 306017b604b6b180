import { generation } from "../../generation/2026-07-28/name.ts";
import { createTaskResult } from "../../generation/2026-07-28/create.ts";
import { readIdempotencyKey } from "../../generation/idempotency-key.ts";
import { isJsonObject } from "../../generation/json-object.ts";
import type { Ask } from "../../runtime/attempt/run-inline.ts";
import type { Runtime, TaskCall } from "../../runtime/runtime.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import { HoldfastError } from "../../task/fault.ts";
import { becomesTask, missingForCall, missingTasks } from "./admission.ts";
import { completeAnswerOf, type Answer } from "../answer.ts";
import type { Caller } from "../caller.ts";
import { originOf, type ToolRequest } from "../tool-request.ts";
import { prepareCall } from "./prepare-call.ts";

/** Answers a call of a registered tool, with a task or directly; rejects with a `HoldfastError`. */
export async function callTool(
  runtime: Runtime,
  tool: Tool,
  request: ToolRequest,
  caller: Caller,
): Promise<Answer> {
  const missing = missingForCall(tool, caller.capabilities);
  if (missing !== undefined) throw missing;
  const { params, signal } = request;
  // Read before anybody is asked anything, as its key may be none.
  const call = becomesTask(tool, caller.capabilities) ? taskCall(tool, request, caller) : undefined;
  const preparation = await prepareCall(runtime, tool, request, caller);
  if ("answer" in preparation) return preparation.answer;
  const { prepared } = preparation;
  if (call !== undefined) return createTask(runtime, { ...call, prepared }, signal);
  const ask: Ask = async () => {
    if (tool.task === "forbidden") {
      throw new HoldfastError(
        "configuration",
        `Tool ${tool.name} is never a task, so it cannot ask while it runs.`,
      );
    }
    throw missingTasks(`The question of tool ${tool.name}`);
  };
  const run = { tool, arguments: params["arguments"], prepared, signal, ask };
  return completeAnswerOf(await runtime.runInline(run));
}

/** The call as a task takes it; throws `invalid_params` for an idempotency key that is none. */
function taskCall(tool: Tool, { id, params }: ToolRequest, { capabilities, principal }: Caller): TaskCall {
  const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
  const idempotencyKey = readIdempotencyKey(meta, principal);
  return {
    generation,
    tool: tool.name,
    arguments: params["arguments"],
    origin: originOf(id, meta, capabilities),
    principal,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
}

async function createTask(runtime: Runtime, call: TaskCall, signal: AbortSignal): Promise<Answer> {
  signal.throwIfAborted(); // nothing was promised yet, so nothing is begun
  const end = await runtime.call(call, signal);
  if (end.kind === "outcome") return completeAnswerOf(end.outcome);
  const { task } = end.snapshot;
  // The id can reach nobody any more. With a key the caller finds its task by calling again.
  if (signal.aborted && call.idempotencyKey === undefined) await runtime.cancel(task.id, task);
  return { result: { ...createTaskResult(end.snapshot) } };
}

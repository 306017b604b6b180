import { generation } from "../generation/2026-07-28/name.ts";
import { createTaskResult } from "../generation/2026-07-28/create.ts";
import { readIdempotencyKey } from "../generation/idempotency-key.ts";
import { isJsonObject, type JsonObject } from "../generation/json-object.ts";
import type { Ask } from "../runtime/run-inline.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Tool } from "../runtime/tool.ts";
import type { Origin } from "../task/record.ts";
import { becomesTask, missingForCall, missingTasks } from "./admission.ts";
import { answerOfOutcome, type Answer } from "./answer.ts";
import type { Caller } from "./caller.ts";

/** One tools/call, as it came in. */
export interface ToolRequest {
  readonly id: string | number;
  readonly params: JsonObject;
  /** Aborts when the caller cancels the request or goes away before it was answered. */
  readonly signal: AbortSignal;
}

/** Answers a call of a registered tool, with a task or directly; rejects with a `HoldfastError`. */
export async function callTool(
  runtime: Runtime,
  tool: Tool,
  request: ToolRequest,
  caller: Caller,
): Promise<Answer> {
  const missing = missingForCall(tool, caller.capabilities);
  if (missing !== undefined) throw missing;
  if (becomesTask(tool, caller.capabilities)) return createTask(runtime, tool, request, caller);
  const { params, signal } = request;
  const ask: Ask = async () => {
    throw missingTasks(`The question of tool ${tool.name}`);
  };
  return answerOfOutcome(await runtime.runInline({ tool, arguments: params["arguments"], signal, ask }));
}

async function createTask(
  runtime: Runtime,
  tool: Tool,
  { id, params, signal }: ToolRequest,
  { capabilities, principal }: Caller,
): Promise<Answer> {
  const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
  const idempotencyKey = readIdempotencyKey(meta, principal);
  signal.throwIfAborted(); // nothing was promised yet, so nothing is begun
  const call = {
    generation,
    tool: tool.name,
    arguments: params["arguments"],
    origin: originOf(id, meta, capabilities),
    principal,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
  const end = await runtime.call(call, signal);
  if (end.kind === "outcome") return answerOfOutcome(end.outcome);
  const { task } = end.snapshot;
  // The id can reach nobody any more. With a key the caller finds its task by calling again.
  if (signal.aborted && idempotencyKey === undefined) await runtime.cancel(task.id, task);
  return { result: { ...createTaskResult(end.snapshot) } };
}

function originOf(requestId: string | number, meta: JsonObject, capabilities: JsonObject): Origin {
  const { progressToken, traceparent, tracestate } = meta;
  return {
    requestId,
    capabilities,
    ...(typeof progressToken === "string" || typeof progressToken === "number" ? { progressToken } : {}),
    ...(typeof traceparent === "string"
      ? { trace: { traceparent, ...(typeof tracestate === "string" ? { tracestate } : {}) } }
      : {}),
  };
}

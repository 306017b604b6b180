import { createTaskResult, readTaskParams } from "../../generation/2025-11-25/create.ts";
import { generation } from "../../generation/2025-11-25/name.ts";
import { readIdempotencyKey } from "../../generation/idempotency-key.ts";
import { isJsonObject } from "../../generation/json-object.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import { answerOf, type Answer } from "../answer.ts";
import { originOf, type ToolRequest } from "../tool-request.ts";
import type { Callee } from "./callee.ts";
import { plainCall } from "./plain-call.ts";
import { runDirectly } from "./run-directly.ts";

/** Answers a call of a registered tool, with a task where it asks for one; rejects with a `HoldfastError`. */
export async function callTool(tool: Tool, request: ToolRequest, callee: Callee): Promise<Answer> {
  const task = callee.hasTasks ? readTaskParams(request.params) : undefined;
  if (task === undefined) {
    const kept = tool.task === "optional" && callee.isPlain;
    return kept
      ? callee.plain.call(tool, plainCall(request, callee))
      : answerOf(await runDirectly(tool, request, callee));
  }

  const { runtime, desk, connection } = callee;
  const { id, params, signal, access } = request;
  const { principal, streams } = connection;
  const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
  const idempotencyKey = readIdempotencyKey(meta, principal);
  signal.throwIfAborted(); // nothing was promised yet, so nothing is begun
  const requestor = { generation, principal, scopes: access?.scopes };
  const origin = originOf(id, meta, connection.capabilities);
  const created = await runtime.create({
    ...requestor,
    requiredScopes: access?.neededFor(tool.name) ?? [],
    tool: tool.name,
    arguments: params["arguments"],
    origin: streams.sessionId === undefined ? origin : { ...origin, session: streams.sessionId },
    ...(task.ttlMs === undefined ? {} : { ttlMs: task.ttlMs }),
    ...(tool.prepare === undefined ? {} : { prepareInTask: true }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  });
  // The id can reach nobody any more. With a key the caller finds its task by calling again.
  if (signal.aborted && idempotencyKey === undefined) await runtime.cancel(created.task.id, requestor);
  const { progressToken } = origin;
  // Nothing is said of a task before its id is out, and nothing where that never is.
  if (!signal.aborted)
    connection.afterAnswer(id, (end) => {
      if (end !== "lost") desk.follow(created, requestor, { connection, progressToken });
    });
  return { result: { ...createTaskResult(created, tool.immediateResponse) } };
}

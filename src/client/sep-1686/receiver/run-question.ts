import type { JSONRPCRequest } from "@modelcontextprotocol/client";
import { readTaskParams, withoutTask, type TaskParams } from "../../../generation/sep-1686/create.ts";
import { createdNotification } from "../../../generation/sep-1686/notify.ts";
import { relatedTaskOf } from "../../../generation/sep-1686/related-task.ts";
import { requestAnswer } from "../../../generation/sep-1686/result.ts";
import { HoldfastError, isUnknownTask } from "../../../task/fault.ts";
import type { TaskSnapshot } from "../../../task/snapshot.ts";
import { finished } from "../../session/receiver/finished.ts";
import { withAnswer, type AskedQuestion } from "../../session/receiver/question-tools.ts";
import { TakenBack, type Answer } from "../../session/receiver/received-requests.ts";
import type { RawRequester } from "../../transport/raw-requester.ts";
import type { Party } from "./own-task.ts";

interface Asking extends Party {
  readonly requester: RawRequester;
  /** How this client names the server that asks. */
  readonly server: string;
}

/**
 * Makes a task of a question that asks for one, says so, and answers when it has ended, as if it were none (S-011 to S-015).
 * A connection that ends leaves the task alone; the server's cancel ends it (S-063). Rejects with `wire_id_taken` for an
 * id that is in use, with what `create` rejects with, and with the signal's reason.
 */
export async function runQuestion(
  asking: Asking,
  request: JSONRPCRequest,
  signal: AbortSignal,
): Promise<Answer> {
  const { runtime, requestor, requester } = asking;
  const asked = readTaskParams(request.params);
  if (asked === undefined) throw new HoldfastError("internal", "The question asks for no task.");
  const { task } = await create(asking, request, asked);
  const { method, params } = createdNotification(task.wireId);
  await requester.tell({ jsonrpc: "2.0", method, params });
  try {
    return requestAnswer(withAnswer(await finished(runtime, requestor, task.id, signal)));
  } catch (error) {
    if (signal.reason instanceof TakenBack) await cancelIfRunning(asking, task.id);
    throw error;
  }
}

async function create(
  { runtime, requestor, scope, server }: Asking,
  { id, method, params = {} }: JSONRPCRequest,
  { taskId: wireId, keepAliveMs }: TaskParams,
): Promise<TaskSnapshot> {
  const question: AskedQuestion = {
    server,
    params: withoutTask(params),
    taskId: relatedTaskOf(params) ?? null,
  };
  return runtime.create({
    ...requestor,
    scope,
    wireId,
    tool: method,
    arguments: question,
    origin: { requestId: id, capabilities: {} },
    keepAlive: true,
    queued: true,
    ...(keepAliveMs !== undefined && { ttlMs: keepAliveMs }),
  });
}

/** A cancel of what has ended is ignored (S-066). */
async function cancelIfRunning({ runtime, requestor }: Party, id: string): Promise<void> {
  try {
    await runtime.cancelNow(id, requestor);
  } catch (error) {
    const ended = error instanceof HoldfastError && error.code === "finished";
    if (!ended && !isUnknownTask(error)) throw error;
  }
}

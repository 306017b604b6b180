import { clientCancels, takesTasks } from "../../generation/2025-11-25/negotiate.ts";
import { isJsonObject } from "../../generation/json-object.ts";
import { withMeta } from "../../generation/meta.ts";
import { followClientTask } from "./client-task.ts";
import { ofTask, type Reply } from "./asked.ts";
import { orWithdrawn, type Question } from "./question.ts";

/**
 * Puts a question to the client and resolves with what it answers. Where the client declares that it takes such a
 * request as a task, it becomes one there (C-007): then the answer outlives the stream that it was asked on. Rejects
 * with `Undelivered`, and with the signal's reason, which withdraws the question.
 */
export async function askClient(question: Question): Promise<Reply> {
  const { connection, method, params, via, signal, mayBeTask = true, requiredScopes } = question;
  signal.throwIfAborted();
  const { capabilities } = connection;
  const asTask = mayBeTask && method !== "roots/list" && takesTasks(capabilities, method);
  const { task: _unasked, ...own } = params;
  const stream = via();
  // What a client takes as a task it keeps itself; there it is the result that counts.
  const asked = asTask
    ? connection.ask(method, { ...own, task: {} }, stream, { requiredScopes })
    : connection.ask(method, own, stream, question);
  const reply = await orWithdrawn(asked, signal, () => {
    const withdrawal = { requestId: asked.id, reason: "The question is no longer open." };
    const { related } = question; // it is of that task as much as the question was (C-098)
    const message = related === undefined ? withdrawal : withMeta(withdrawal, related);
    connection.notify("notifications/cancelled", message, stream);
  });
  const task = asTask && "result" in reply ? reply.result["task"] : undefined;
  // A client may answer at once all the same.
  if (!isJsonObject(task) || typeof task["taskId"] !== "string") return asTask ? ofTask(reply) : reply;
  const { taskId } = task;
  question.onTaken?.();
  return followClientTask(question, taskId, task, () => {
    if (clientCancels(capabilities)) connection.ask("tasks/cancel", { taskId }, via());
  });
}

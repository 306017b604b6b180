import { clientCancels, takesTasks } from "../../generation/2025-11-25.ts";
import { isJsonObject } from "../../generation/message.ts";
import { followClientTask } from "./client-task.ts";
import { ofTask, type Reply } from "./connection.ts";
import { type Question, replyTo } from "./question.ts";

/**
 * Asks the client and resolves with its reply. If the client declares that it takes such a request as a task, it becomes one
 * there (C-007), and the reply does not need the stream of the question any more. Rejects with `Undelivered`, and with the
 * reason of the signal, which withdraws the question.
 */
export async function askClient(question: Question): Promise<Reply> {
  const { connection, method, params, via, signal, mayBeTask = true, requiredScopes } = question;
  signal.throwIfAborted();
  const { capabilities } = connection;
  const asTask = mayBeTask && method !== "roots/list" && takesTasks(capabilities, method);
  const { task: _unasked, ...own } = params;
  const stream = via();
  // For a task of the client, `tasks/result` has the reply that must be stored, not this request.
  const asked = asTask
    ? connection.ask(method, { ...own, task: {} }, stream, { requiredScopes })
    : connection.ask(method, own, stream, question);
  const reply = await replyTo(question, asked, stream);
  const task = asTask && "result" in reply ? reply.result["task"] : undefined;
  // A client may also answer without a task.
  if (!isJsonObject(task) || typeof task["taskId"] !== "string") return asTask ? ofTask(reply) : reply;
  const { taskId } = task;
  question.onTaskCreated?.();
  return followClientTask(question, taskId, task, () => {
    if (clientCancels(capabilities)) connection.ask("tasks/cancel", { taskId }, via());
  });
}

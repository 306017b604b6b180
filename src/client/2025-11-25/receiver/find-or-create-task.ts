import { readTaskParams, relatedTaskOf } from "../../../generation/2025-11-25.ts";
import { questionKeyOf } from "../../../generation/extensions.ts";
import { requestHash } from "../../../runtime/request-hash.ts";
import type { Requestor, Runtime } from "../../../runtime/runtime.ts";
import type { TaskSnapshot } from "../../../task/record.ts";
import { questionCall, type Question, type QuestionCall } from "../../session/receiver/question-tools.ts";

interface RequestContext {
  readonly runtime: Runtime;
  readonly unfetchedAnswers: ReadonlySet<string>;
  readonly requestor: Requestor;
  readonly server: string;
}

/** How many of the newest tasks are searched. */
const searchLimit = 200;

/**
 * The task for a question. A server may repeat the question of its own task, after a broken connection or a
 * restart; it then gets the same task: always if the question has a key, otherwise until the server has fetched the
 * answer.
 */
export async function findOrCreateTask(
  { runtime, unfetchedAnswers, requestor, server }: RequestContext,
  question: Question,
): Promise<TaskSnapshot> {
  const { ttlMs } = readTaskParams(question.params) ?? {};
  const { task: _, ...own } = question.params;
  const call = questionCall(server, question, own, relatedTaskOf(own));
  const same = call.arguments.taskId === null ? undefined : await openTask(call);
  if (same !== undefined) return same;
  return runtime.create({ ...requestor, ...call, ...(ttlMs !== undefined && { ttlMs }) });

  async function openTask({ tool, arguments: asked }: QuestionCall): Promise<TaskSnapshot | undefined> {
    const hash = requestHash(tool, asked);
    const hasName = questionKeyOf(asked.params) !== undefined;
    const tasks = await runtime.list(requestor, { limit: searchLimit });
    const found = tasks.find(
      (task) =>
        task.requestHash === hash &&
        task.state !== "cancelled" &&
        (task.finishedAt === null || hasName || unfetchedAnswers.has(task.id)),
    );
    return found === undefined ? undefined : runtime.get(found.id, requestor);
  }
}

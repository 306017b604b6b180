import type { RequestId } from "@modelcontextprotocol/client";
import { readTaskParams } from "../../../generation/2025-11-25/create.ts";
import { relatedTaskOf } from "../../../generation/2025-11-25/related-task.ts";
import type { JsonObject } from "../../../generation/json-object.ts";
import { questionKeyOf } from "../../../generation/question-key.ts";
import { requestHash } from "../../../runtime/request-hash.ts";
import type { Requestor, Runtime } from "../../../runtime/runtime.ts";
import type { TaskSnapshot } from "../../../task/snapshot.ts";
import type { AskedQuestion, QuestionMethod } from "../../session/receiver/question-tools.ts";

interface Taker {
  readonly runtime: Runtime;
  readonly unfetched: ReadonlySet<string>;
  readonly requestor: Requestor;
  readonly server: string;
}

/** How many of the newest tasks are looked through. */
const lookBack = 200;

/**
 * The task for a question. A server whose own task asks may ask again after a break, by itself or through a new
 * process: that is the same question, and the same task, for ever where it has a name, and else while the server does
 * not have the user's answer.
 */
export async function takeQuestion(
  { runtime, unfetched, requestor, server }: Taker,
  id: RequestId,
  method: QuestionMethod,
  params: JsonObject,
): Promise<TaskSnapshot> {
  const { ttlMs } = readTaskParams(params) ?? {};
  const { task: _, ...own } = params;
  const question: AskedQuestion = { server, params: own, taskId: relatedTaskOf(own) ?? null };
  const same = question.taskId === null ? undefined : await openTask(method, question);
  if (same !== undefined) return same;
  return runtime.create({
    ...requestor,
    tool: method,
    arguments: question,
    origin: { requestId: id, capabilities: {} },
    ...(ttlMs !== undefined && { ttlMs }),
  });

  async function openTask(tool: string, asked: AskedQuestion): Promise<TaskSnapshot | undefined> {
    const hash = requestHash(tool, asked);
    const hasName = questionKeyOf(asked.params) !== undefined;
    const tasks = await runtime.list(requestor, { limit: lookBack });
    const found = tasks.find(
      (task) =>
        task.requestHash === hash &&
        task.state !== "cancelled" &&
        (task.finishedAt === null || hasName || unfetched.has(task.id)),
    );
    return found === undefined ? undefined : runtime.get(found.id, requestor);
  }
}

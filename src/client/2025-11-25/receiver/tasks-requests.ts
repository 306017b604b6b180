import {
  diagnose,
  listResult,
  readTaskId,
  type TasksMethod,
  taskResult,
  wireTask,
  type WireTask,
} from "../../../generation/2025-11-25.ts";
import type { JsonObject } from "../../../generation/message.ts";
import type { Requestor, Runtime } from "../../../runtime/runtime.ts";
import type { TaskSnapshot } from "../../../task/record.ts";
import { untilFinished, listPage } from "../../session/receiver/runtime-queries.ts";
import { withAnswer } from "../../session/receiver/question-tools.ts";
import type { Answer } from "../../session/receiver/received-requests.ts";

interface About {
  readonly runtime: Runtime;
  readonly requestor: Requestor;
}

/** Answers a server's `tasks/*` request about its tasks in this client. Rejects with a `HoldfastError`. */
export async function answerTasksRequest(
  { runtime, requestor }: About,
  method: TasksMethod,
  params: JsonObject,
  signal: AbortSignal,
): Promise<Answer> {
  switch (method) {
    case "tasks/get":
      return { result: { ...shown(await runtime.get(readTaskId(method, params), requestor)) } };
    case "tasks/cancel":
      return { result: { ...shown(await runtime.cancelNow(readTaskId(method, params), requestor)) } };
    case "tasks/result": // C-059
      return taskResult(
        withAnswer(await untilFinished(runtime, requestor, readTaskId(method, params), signal)),
      );
    case "tasks/list": {
      const { records, nextCursor } = await listPage(runtime, requestor, params);
      const tasks = records.map((record) => wireTask(record));
      return { result: { ...listResult(tasks, nextCursor) } };
    }
  }
}

export function shown(snapshot: TaskSnapshot): WireTask {
  return wireTask(snapshot.task, diagnose(snapshot));
}

import { diagnose } from "../../../generation/2025-11-25/diagnose.ts";
import { listResult } from "../../../generation/2025-11-25/list.ts";
import { readTaskId, type TasksMethod } from "../../../generation/2025-11-25/methods.ts";
import { withRelatedTask } from "../../../generation/2025-11-25/related-task.ts";
import { taskResult } from "../../../generation/2025-11-25/result.ts";
import { wireTask, type WireTask } from "../../../generation/2025-11-25/wire-task.ts";
import { encodeCursor, readCursor } from "../../../generation/cursor.ts";
import type { JsonObject } from "../../../generation/json-object.ts";
import type { Requestor, Runtime } from "../../../runtime/runtime.ts";
import { waitFor } from "../../../runtime/wait-for.ts";
import type { JsonRpcError } from "../../../task/outcome.ts";
import type { TaskSnapshot } from "../../../task/snapshot.ts";
import { answerIn } from "./question-tools.ts";

export type Answer = { readonly result: JsonObject } | { readonly error: JsonRpcError };

interface About {
  readonly runtime: Runtime;
  readonly requestor: Requestor;
}

/** Tasks on one page of `tasks/list`. */
const pageSize = 50;

/** Answers a server's `tasks/*` request about its own tasks here; rejects with a `HoldfastError`. */
export async function answerAboutTask(
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
    case "tasks/result":
      return outcomeOf(await finished(readTaskId(method, params)));
    case "tasks/list":
      return { result: { ...(await list()) } };
  }

  /** C-059 */
  async function finished(id: string): Promise<TaskSnapshot> {
    for (;;) {
      let changed = false;
      let wake = (): void => undefined;
      // Watched before it is read, so that no change falls between.
      const stop = runtime.watch([id], () => {
        changed = true;
        wake();
      });
      try {
        const snapshot = await runtime.get(id, requestor);
        if (snapshot.task.finishedAt !== null) return snapshot;
        await waitFor((done) => {
          wake = done;
          if (changed) queueMicrotask(done);
          return () => undefined;
        }, signal);
      } finally {
        stop();
      }
    }
  }

  /** The newest first (C-072, C-073). */
  async function list(): Promise<object> {
    const after = readCursor(params);
    const limit = pageSize + 1; // one more than fits tells whether there is another page
    const records = await runtime.list(requestor, { limit, ...(after !== undefined && { after }) });
    const onPage = records.slice(0, pageSize);
    const last = records.length > pageSize ? onPage.at(-1) : undefined;
    const tasks = onPage.map((record) => wireTask(record));
    return listResult(tasks, last === undefined ? undefined : encodeCursor(last.id));
  }
}

export function shown(snapshot: TaskSnapshot): WireTask {
  return wireTask(snapshot.task, diagnose(snapshot));
}

function outcomeOf(snapshot: TaskSnapshot): Answer {
  const { task, outcome } = snapshot;
  if (outcome === null || outcome.kind === "error") return taskResult(snapshot);
  return { result: withRelatedTask(answerIn(outcome), task.wireId) };
}

import { diagnose } from "../../generation/2025-11-25/diagnose.ts";
import { listResult } from "../../generation/2025-11-25/list.ts";
import { readTaskId, type TasksMethod } from "../../generation/2025-11-25/methods.ts";
import { generation } from "../../generation/2025-11-25/name.ts";
import { taskResult } from "../../generation/2025-11-25/result.ts";
import { wireStatus, wireTask, type WireTask } from "../../generation/2025-11-25/wire-task.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import type { Answer } from "../answer.ts";
import { listPage, type Listing } from "../list-page.ts";
import type { Rates } from "../rates/rates.ts";
import type { ToolRequest } from "../tool-request.ts";
import type { Callee } from "./callee.ts";

/** Answers a `tasks/*` request; rejects with a `HoldfastError`. */
export async function handle(
  method: TasksMethod,
  { id, params, signal, access }: ToolRequest,
  {
    runtime,
    desk,
    rates,
    connection,
  }: Pick<Callee, "runtime" | "desk" | "connection"> & { readonly rates: Rates },
): Promise<Answer> {
  const requestor = { generation, principal: connection.principal, scopes: access?.scopes };
  switch (method) {
    case "tasks/get": {
      const snapshot = await runtime.get(readTaskId(method, params), requestor);
      rates.advertised(snapshot.task.wireId, requestor.principal, snapshot.task.pollIntervalMs);
      desk.polled(snapshot, requestor, connection);
      return { result: { ...shown(snapshot) } };
    }
    case "tasks/result": {
      const taskId = readTaskId(method, params);
      const waited = AbortSignal.any([signal, connection.lost(id, signal)]);
      return taskResult(await desk.finished(taskId, requestor, { connection, request: id, signal: waited }));
    }
    case "tasks/cancel":
      return { result: { ...shown(await runtime.cancelNow(readTaskId(method, params), requestor)) } };
    case "tasks/list": {
      const { tasks, nextCursor } = await listPage(runtime, requestor, params, listing);
      return { result: { ...listResult(tasks, nextCursor) } };
    }
  }
}

/** As `tasks/get` shows it; only of a failed one the outcome is read, which says why. */
const listing: Listing<WireTask> = {
  short: (task) =>
    task.statusMessage === null && wireStatus(task) === "failed" ? undefined : wireTask(task),
  whole: shown,
};

function shown(snapshot: TaskSnapshot): WireTask {
  return wireTask(snapshot.task, diagnose(snapshot));
}

import { diagnose } from "../../generation/2025-11-25/diagnose.ts";
import { listResult } from "../../generation/2025-11-25/list.ts";
import { readTaskId, type TasksMethod } from "../../generation/2025-11-25/methods.ts";
import { generation } from "../../generation/2025-11-25/name.ts";
import { taskResult } from "../../generation/2025-11-25/result.ts";
import { wireStatus, wireTask, type WireTask } from "../../generation/2025-11-25/wire-task.ts";
import { encodeCursor, readCursor } from "../../generation/cursor.ts";
import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import type { Answer } from "../answer.ts";
import type { Rates } from "../rates/rates.ts";
import type { ToolRequest } from "../tool-request.ts";
import type { Callee } from "./callee.ts";

/** Tasks on one page of `tasks/list`. */
const pageSize = 50;

/** Answers a `tasks/*` request; rejects with a `HoldfastError`. */
export async function handle(
  method: TasksMethod,
  { id, params, signal }: ToolRequest,
  {
    runtime,
    desk,
    rates,
    connection,
  }: Pick<Callee, "runtime" | "desk" | "connection"> & { readonly rates: Rates },
): Promise<Answer> {
  const requestor = { generation, principal: connection.principal };
  switch (method) {
    case "tasks/get": {
      const snapshot = await runtime.get(readTaskId(method, params), requestor);
      rates.advertised(snapshot.task.wireId, requestor.principal, snapshot.task.pollIntervalMs);
      desk.polled(snapshot, requestor, connection);
      return { result: { ...shown(snapshot) } };
    }
    case "tasks/result": {
      const taskId = readTaskId(method, params);
      return taskResult(await desk.finished(taskId, requestor, { connection, request: id, signal }));
    }
    case "tasks/cancel":
      return { result: { ...shown(await runtime.cancelNow(readTaskId(method, params), requestor)) } };
    case "tasks/list":
      return { result: { ...(await list(runtime, requestor, params)) } };
  }
}

/** The newest first (C-072, C-073). */
async function list(runtime: Runtime, requestor: Requestor, params: unknown): Promise<object> {
  const after = readCursor(params);
  // One more than fits tells whether there is another page.
  const page = { limit: pageSize + 1, ...(after === undefined ? {} : { after }) };
  const records = await runtime.list(requestor, page);
  const onPage = records.slice(0, pageSize);
  const last = records.length > pageSize ? onPage.at(-1) : undefined;
  const tasks: WireTask[] = [];
  for (const record of onPage) {
    // One after the other: an outcome may be large, and of each a line is kept.
    const task = await listed(runtime, requestor, record);
    if (task !== undefined) tasks.push(task);
  }
  return listResult(tasks, last === undefined ? undefined : encodeCursor(last.id));
}

/** As `tasks/get` shows it; only of a failed one the outcome is read, which says why. Undefined: it was just deleted. */
async function listed(
  runtime: Runtime,
  requestor: Requestor,
  task: TaskRecord,
): Promise<WireTask | undefined> {
  if (task.statusMessage !== null || wireStatus(task) !== "failed") return wireTask(task);
  try {
    return shown(await runtime.get(task.id, requestor));
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "unknown_task") return undefined;
    throw error;
  }
}

function shown(snapshot: TaskSnapshot): WireTask {
  return wireTask(snapshot.task, diagnose(snapshot));
}

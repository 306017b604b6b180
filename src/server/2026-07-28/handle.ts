import { generation } from "../../generation/2026-07-28/name.ts";
import { readCommand, type TasksMethod } from "../../generation/2026-07-28/methods.ts";
import { detailedTask } from "../../generation/2026-07-28/project.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { missingForMethod } from "./admission.ts";
import type { Caller } from "../caller.ts";
import type { Rates } from "../rates/rates.ts";
import type { ToolRequest } from "../tool-request.ts";

/**
 * Answers `tasks/get`, `tasks/update` and `tasks/cancel`, whatever carries them: resolves with the result object or
 * rejects with a `HoldfastError`. The checks come in the order capability, params, task.
 */
export async function handle(
  runtime: Runtime,
  method: TasksMethod,
  { params, access }: Pick<ToolRequest, "params" | "access">,
  { capabilities, principal }: Caller,
  rates: Rates,
): Promise<object> {
  const missing = missingForMethod(method, capabilities);
  if (missing !== undefined) throw missing;
  const command = readCommand(method, params);
  const requestor = { generation, principal, scopes: access?.scopes };
  switch (command.type) {
    case "get": {
      const snapshot = await runtime.get(command.taskId, requestor);
      rates.advertised(command.taskId, principal, snapshot.task.pollIntervalMs);
      return { ...detailedTask(snapshot), resultType: "complete" };
    }
    case "update":
      await runtime.answer(command.taskId, requestor, command.answers);
      return { resultType: "complete" };
    case "cancel":
      await runtime.cancel(command.taskId, requestor);
      return { resultType: "complete" };
  }
}

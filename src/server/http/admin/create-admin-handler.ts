import { HoldfastError } from "../../../task/fault.ts";
import { insideOf } from "../../inside-tasks.ts";
import type { Tasks } from "../../tasks.ts";
import { operatorEndpoint, type OperatorEndpoint } from "../operator-endpoint.ts";
import type { AdminHandlerOptions } from "../operator-options.ts";
import { AdminRequests } from "./admin-requests.ts";

/**
 * Serves `tasks.admin` on `options.path` over HTTP, as JSON, to operators that `authenticate` identifies; `GET …/openapi.json` describes
 * it. It neither starts nor stops the tasks: before they start, requests get 503. Throws `configuration` without authentication.
 *
 * ```ts
 * app.use(createAdminHandler(tasks, { authenticate: adminToken(process.env.ADMIN_TOKEN, "on-call") }));
 * ```
 */
export function createAdminHandler(tasks: Tasks, options: AdminHandlerOptions): OperatorEndpoint {
  const inside = insideOf(tasks);
  if (inside === undefined) {
    const message =
      "createAdminHandler takes what createTasks returns: createAdminHandler(tasks, { authenticate }).";
    throw new HoldfastError("configuration", message);
  }
  const { runtime, onError, events } = inside;
  const administered = { admin: tasks.admin, options: runtime.options, onError, events };
  return operatorEndpoint(new AdminRequests(administered, options), onError);
}

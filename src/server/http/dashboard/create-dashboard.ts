import type { Admin } from "../../../admin/operations.ts";
import { errorReporter } from "../../../runtime/error-reporter.ts";
import { defaultSettings } from "../../../runtime/options.ts";
import { HoldfastError } from "../../../task/fault.ts";
import { insideOf } from "../../inside-tasks.ts";
import type { Tasks } from "../../tasks.ts";
import { operatorEndpoint, type OperatorEndpoint } from "../operator-endpoint.ts";
import type { DashboardOptions } from "../operator-options.ts";
import { DashboardRequests, type Shown } from "./dashboard-requests.ts";

/**
 * Serves the operators' dashboard on `options.path`, to operators that `authenticate` identifies. It shows the tasks of a server, or of an
 * `Admin`, such as the `remoteAdmin` of `holdfast/client` for a server that runs elsewhere. It neither starts nor stops the tasks. Throws
 * `configuration` without authentication.
 *
 * ```ts
 * app.use(createDashboard(tasks, { authenticate: adminToken(process.env.ADMIN_TOKEN, "on-call") }));
 * ```
 */
export function createDashboard(source: Tasks | Admin, options: DashboardOptions): OperatorEndpoint {
  const shown = shownOf(source);
  return operatorEndpoint(new DashboardRequests(shown, options), shown.onError);
}

function shownOf(source: Tasks | Admin): Shown {
  const inside = insideOf(source);
  if (inside !== undefined && "admin" in source) {
    const { runtime, onError, events } = inside;
    return { admin: source.admin, options: runtime.options, onError, events };
  }
  if (isAdmin(source)) {
    return { admin: source, options: defaultSettings, onError: errorReporter(undefined), events: undefined };
  }
  const message =
    "createDashboard takes what createTasks returns, or an Admin: createDashboard(tasks, { authenticate }).";
  throw new HoldfastError("configuration", message);
}

function isAdmin(source: Tasks | Admin): source is Admin {
  return "as" in source && "counts" in source;
}

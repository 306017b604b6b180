import { HoldfastError } from "../../../task/fault.ts";
import { insideOf } from "../../inside-tasks.ts";
import type { Tasks } from "../../tasks.ts";
import { operatorEndpoint, type OperatorEndpoint } from "../operator-endpoint.ts";
import type { MetricsHandlerOptions } from "../operator-options.ts";
import { MetricsRequests } from "./metrics-requests.ts";

/**
 * Serves metrics on `options.path` over HTTP, as text, to those that `authenticate` identifies. It neither starts nor stops the tasks.
 * Throws `configuration` without authentication.
 *
 * ```ts
 * const authenticate = adminToken(process.env.METRICS_TOKEN, "prometheus");
 * app.use(createMetricsHandler(tasks, { source: prometheusMetrics(), authenticate }));
 * ```
 */
export function createMetricsHandler(tasks: Tasks, options: MetricsHandlerOptions): OperatorEndpoint {
  const inside = insideOf(tasks);
  if (inside === undefined) {
    const message =
      "createMetricsHandler takes what createTasks returns: createMetricsHandler(tasks, { source, authenticate }).";
    throw new HoldfastError("configuration", message);
  }
  return operatorEndpoint(new MetricsRequests(inside, options), inside.onError);
}

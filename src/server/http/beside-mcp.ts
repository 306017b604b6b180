import type { RequestListener } from "node:http";
import { HoldfastError } from "../../task/fault.ts";
import type { TaskServer } from "../task-server.ts";
import { AdminRequests } from "./admin/admin-requests.ts";
import { DashboardRequests } from "./dashboard/dashboard-requests.ts";
import type { HttpOptions } from "./http-options.ts";
import { MetricsRequests } from "./metrics/metrics-requests.ts";
import { pathnameOf } from "./node-request.ts";
import type { OpenWork } from "./open-work.ts";
import { operatorEndpoint, type OperatorEndpoint } from "./operator-endpoint.ts";

/** The endpoints for operators of a server that listens itself, under the names that its MCP endpoint has: those that were asked for. */
export function endpointsBesideMcp(server: TaskServer, options: HttpOptions): readonly OperatorEndpoint[] {
  const { admin, metrics, dashboard, path = "/mcp" } = options;
  const { allowedHosts, allowedOrigins, requestTimeoutMs } = options;
  const names = {
    ...(allowedHosts !== undefined && { allowedHosts }),
    ...(allowedOrigins !== undefined && { allowedOrigins }),
  };
  const timeout = requestTimeoutMs === undefined ? {} : { requestTimeoutMs };
  const endpoints: OperatorEndpoint[] = [];
  const add = (name: string, endpoint: OperatorEndpoint): void => {
    const hidden = [path, ...endpoints.map((other) => other.path)].find((other) => endpoint.serves(other));
    const hider = endpoints.find((other) => other.serves(endpoint.path));
    if (hidden !== undefined || hider !== undefined) {
      const message = `The ${name} endpoint at ${endpoint.path} overlaps with the endpoint at ${hidden ?? hider?.path}. Give one of them another path.`;
      throw new HoldfastError("configuration", message);
    }
    endpoints.push(endpoint);
  };
  if (admin !== undefined) {
    const requests = new AdminRequests(server, { ...admin, ...names, ...timeout });
    add("admin", operatorEndpoint(requests, server.onError));
  }
  if (metrics !== undefined) {
    add("metrics", operatorEndpoint(new MetricsRequests(server, { ...metrics, ...names }), server.onError));
  }
  if (dashboard !== undefined) {
    const authenticate = dashboard.authenticate ?? admin?.authenticate;
    if (authenticate === undefined) throw withoutAuthentication();
    const requests = new DashboardRequests(server, { ...dashboard, authenticate, ...names, ...timeout });
    add("dashboard", operatorEndpoint(requests, server.onError));
  }
  return endpoints;
}

/** Routes requests to an operators' endpoint or to that of clients. A stop waits for the answers of all. */
export function listenerOf(
  handle: RequestListener,
  endpoints: readonly OperatorEndpoint[],
  open: Pick<OpenWork, "begin">,
): RequestListener {
  if (endpoints.length === 0) return handle;
  return (incoming, outgoing) => {
    const pathname = pathnameOf(incoming);
    const endpoint = endpoints.find((each) => each.serves(pathname));
    if (endpoint === undefined) return handle(incoming, outgoing);
    outgoing.once("close", open.begin(false));
    endpoint(incoming, outgoing);
  };
}

function withoutAuthentication(): HoldfastError {
  const message =
    "The dashboard needs to identify its operators: set dashboard.authenticate, or set admin, whose operators it then shares.";
  return new HoldfastError("configuration", message);
}

import type { IncomingMessage, ServerResponse } from "node:http";
import type { TimeSpan } from "../../task/time.ts";
import {
  isFunction,
  isObject,
  joined,
  listOrAny,
  size,
  tableOf,
  text,
  time,
  value,
} from "../../options/options.ts";
import type { Role } from "../../admin/roles.ts";

/** Node takes a longer timer, from 2 ** 31 ms on, for one of a millisecond. */
export const longestMs = 24 * 24 * 3_600_000;

class DeclaredNameOptions {
  /**
   * Accepted `Host` names, without port. Others get 403, which protects local servers from DNS rebinding. `any` turns the check off.
   * Default: the names of this machine, or `any` if the server listens beyond it.
   */
  readonly allowedHosts?: readonly string[] | "any" = listOrAny("host names without port", isHostName, {
    variable: "HOLDFAST_ALLOWED_HOSTS",
  });
  /** Accepted host names in `Origin`; others get 403. `any` turns the check off. Default: the names of this machine. */
  readonly allowedOrigins?: readonly string[] | "any" = listOrAny("host names without port", isHostName, {
    variable: "HOLDFAST_ALLOWED_ORIGINS",
  });
}

/** The names under which a server is reached, and those of the pages that may call it. */
export interface NameOptions extends DeclaredNameOptions {}

const nameOptions = tableOf<NameOptions>(DeclaredNameOptions);

export class DeclaredRequestOptions extends DeclaredNameOptions {
  /** Maximum size of a request body; larger ones get 413. Default: `maxBodyBytes` of the tasks plus 64 KiB. */
  readonly maxRequestBodySize?: number = size({ min: 1, variable: "HOLDFAST_MAX_REQUEST_BODY_SIZE" });
  /** How long a client may take to send a request; slower ones get 408. Default 1 minute. */
  readonly requestTimeoutMs?: TimeSpan = time({
    min: 1,
    max: longestMs,
    default: 60_000,
    variable: "HOLDFAST_REQUEST_TIMEOUT",
  });
  /** Total size of requests that are being received. Above it, the slowest gets 503. Default 256 MiB. */
  readonly maxPendingBytes?: number = size({
    min: 1,
    default: 256 * 1024 ** 2,
    variable: "HOLDFAST_MAX_PENDING_BYTES",
  });
}

/** Limits on the body of a request, too. */
interface RequestOptions extends DeclaredRequestOptions {}

const requestOptions = tableOf<RequestOptions>(DeclaredRequestOptions);

/** Whether it has the form of a Host header without its port. */
function isHostName(name: string): boolean {
  const url = `http://${name}`;
  return URL.canParse(url) && new URL(url).hostname === name.toLowerCase();
}

/** The operator who sends a request to an admin endpoint. */
export interface Operator {
  /** The name recorded with actions, not empty. */
  readonly actor: string;
  /**
   * What the operator may do: `view` sees no arguments, results and texts of tasks, `read` sees all, `act` also changes tasks, and `admin` also
   * deletes, drains processes and ends sessions. Default `admin`.
   */
  readonly role?: Role;
}

/** Identifies the operator of a request by its headers; `undefined` refuses the request with 401. */
export type AuthenticateOperator = (request: Request) => Promise<Operator | undefined>;

// JavaScript callers may pass the token itself, so messages do not show what was passed.
const authentication = "a function that identifies operators, such as adminToken(process.env.ADMIN_TOKEN)";

/** Whether an endpoint of operators can be served at a path: a request comes with it as it is, and its routes stand below it. */
export function isOperatorPath(path: string): boolean {
  return /^(?:\/[\w.~-]+)+$/.test(path) && new URL(path, "http://localhost").pathname === path;
}

export const operatorPath = "a path such as `/ops`";

class DeclaredAdminEndpointOptions {
  /** The full path of the endpoint, wherever the handler is mounted. Default `/admin`. */
  readonly path?: string = text(operatorPath, isOperatorPath, {
    default: "/admin",
    variable: "HOLDFAST_ADMIN_PATH",
  });
  /** Separate from clients' authentication: permission to call tools does not make an operator. `adminToken` creates one. */
  readonly authenticate: AuthenticateOperator = value(authentication, isFunction, {
    required: true,
    secret: true,
  });
}

/** An admin endpoint next to an MCP endpoint. */
export interface AdminEndpointOptions extends DeclaredAdminEndpointOptions {}

export const adminEndpointOptions = tableOf<AdminEndpointOptions>(DeclaredAdminEndpointOptions);

/** Options of `createAdminHandler`. */
export interface AdminHandlerOptions extends AdminEndpointOptions, RequestOptions {}

export const adminHandlerOptions = joined(adminEndpointOptions, requestOptions);

/** Metrics as text: the result of `prometheusMetrics` from `holdfast/prometheus`. */
export interface MetricsText {
  readonly contentType: string;
  text(): Promise<string>;
}

class DeclaredMetricsEndpointOptions {
  /** The full path of the endpoint, wherever the handler is mounted. Default `/metrics`. */
  readonly path?: string = text(operatorPath, isOperatorPath, {
    default: "/metrics",
    variable: "HOLDFAST_METRICS_PATH",
  });
  /** What to serve: the result of `prometheusMetrics`. */
  readonly source: MetricsText = value(
    "what prometheusMetrics() of holdfast/prometheus returns",
    (given) => isObject(given) && isFunction((given as Partial<MetricsText>).text),
    { required: true },
  );
  /** Separate from clients' authentication: callers of tools must not see how much others use. `adminToken` creates one. */
  readonly authenticate: AuthenticateOperator = value(authentication, isFunction, {
    required: true,
    secret: true,
  });
}

/** An endpoint for metrics next to an MCP endpoint. */
export interface MetricsEndpointOptions extends DeclaredMetricsEndpointOptions {}

export const metricsEndpointOptions = tableOf<MetricsEndpointOptions>(DeclaredMetricsEndpointOptions);

/** Options of `createMetricsHandler`. */
export interface MetricsHandlerOptions extends MetricsEndpointOptions, NameOptions {}

export const metricsHandlerOptions = joined(metricsEndpointOptions, nameOptions);

class DeclaredDashboardEndpointOptions {
  /** The full path of the page, wherever the handler is mounted. Default `/holdfast`. */
  readonly path?: string = text(operatorPath, isOperatorPath, { default: "/holdfast" });
  /** Identifies operators. Default: that of the same server's admin endpoint. */
  readonly authenticate?: AuthenticateOperator = value(authentication, isFunction, { secret: true });
  /** The URL of a trace, with `{traceId}` in place of its id. Default: tasks show only the id of their trace. */
  // It becomes a link of the page.
  readonly traceUrl?: string = text(
    "an http: or https: URL with `{traceId}` in it",
    (url) => /^https?:\/\/.*\{traceId\}/.test(url) && URL.canParse(url),
    { variable: "HOLDFAST_DASHBOARD_TRACE_URL" },
  );
}

/** A dashboard for operators next to an MCP endpoint. */
export interface DashboardEndpointOptions extends DeclaredDashboardEndpointOptions {}

export const dashboardEndpointOptions = tableOf<DashboardEndpointOptions>(DeclaredDashboardEndpointOptions);

class DeclaredDashboardPageOptions extends DeclaredDashboardEndpointOptions {
  /**
   * Identifies operators by the headers of a request. If a request has no `Authorization`, the token with which the operator logged in is
   * added as `Authorization: Bearer …`. `adminToken` creates one.
   */
  override readonly authenticate: AuthenticateOperator = value(authentication, isFunction, {
    required: true,
    secret: true,
  });
}

/** A dashboard by itself, which has no admin endpoint to take its operators from. */
export interface DashboardPageOptions extends DeclaredDashboardPageOptions {}

/** Options of `createDashboard`. */
export interface DashboardOptions extends DashboardPageOptions, RequestOptions {}

export const dashboardOptions = joined(
  tableOf<DashboardPageOptions>(DeclaredDashboardPageOptions),
  requestOptions,
);

/** An endpoint beside that of MCP, on the same host and port: what `createEventHandler` returns. */
export interface EndpointBeside {
  (incoming: IncomingMessage, outgoing: ServerResponse, next?: (error?: unknown) => void): void;
  readonly path: string;
  serves(pathname: string): boolean;
  close(): void;
}

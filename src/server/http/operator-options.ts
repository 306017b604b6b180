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
import type { OperatorRole } from "../../admin/roles.ts";

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
  readonly role?: OperatorRole;
}

/** Identifies the operator of a request by its headers; `undefined` refuses the request with 401. */
export type AuthenticateOperator = (request: Request) => Promise<Operator | undefined>;

// JavaScript callers may pass the token itself, so messages do not show what was passed.
const authentication = "a function that identifies operators, such as adminToken(process.env.ADMIN_TOKEN)";

/** Whether an endpoint of operators can be served at a path: a request comes with it as it is, and its routes stand below it. */
export function isOperatorPath(path: string): boolean {
  return /^(?:\/[\w.~-]+)+$/.test(path) && new URL(path, "http://localhost").pathname === path;
}

function isWebUrl(url: string): boolean {
  return /^https?:\/\//.test(url) && URL.canParse(url);
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

/** A login with OpenID Connect, by the authorization code flow with PKCE. */
export interface OpenIdOptions {
  /** The identity provider, whose metadata is at `/.well-known/openid-configuration` below it. */
  readonly issuer: string;
  readonly clientId: string;
  /** Left out: a public client. */
  readonly clientSecret?: string;
  /** The full URL of the dashboard's callback, as registered at the provider: that of the dashboard with `/login/openid/callback`. */
  readonly redirectUri: string;
  /** Default `openid profile email`. */
  readonly scope?: string;
  /** The words of the link on the login page. Default `Log in with your organization`. */
  readonly label?: string;
  /** The operator for the claims of a verified id token; `undefined` refuses. */
  readonly operator: (
    claims: Readonly<Record<string, unknown>>,
  ) => Operator | undefined | Promise<Operator | undefined>;
}

const openIdTexts = ["issuer", "clientId", "redirectUri"] as const;
const openIdOthers = ["clientSecret", "scope", "label"] as const;

function isOpenId(given: unknown): boolean {
  if (!isObject(given)) return false;
  const options = given as Readonly<Record<string, unknown>>;
  const known: readonly string[] = [...openIdTexts, ...openIdOthers, "operator"];
  const isText = (name: string): boolean => typeof options[name] === "string" && options[name] !== "";
  const isUrl = (name: string): boolean => URL.canParse(String(options[name]));
  return (
    openIdTexts.every(isText) &&
    openIdOthers.every((name) => options[name] === undefined || isText(name)) &&
    isUrl("issuer") &&
    isUrl("redirectUri") &&
    isFunction(options["operator"]) &&
    Object.keys(options).every((name) => known.includes(name))
  );
}

class DeclaredDashboardEndpointOptions {
  /** The full path of the page, wherever the handler is mounted. Default `/holdfast`. */
  readonly path?: string = text(operatorPath, isOperatorPath, { default: "/holdfast" });
  /** Identifies operators. Default: that of the same server's admin endpoint. */
  readonly authenticate?: AuthenticateOperator = value(authentication, isFunction, { secret: true });
  /** Lets operators log in at an identity provider. Default: by a token alone. */
  readonly openId?: OpenIdOptions = value(
    "{ issuer, clientId, clientSecret?, redirectUri, scope?, label?, operator } of OpenID Connect",
    isOpenId,
    { secret: true },
  );
  /** How long operators stay logged in. Default 8 hours. */
  readonly sessionMs?: TimeSpan = time({ min: 60_000, max: 604_800_000, default: 28_800_000 });
  /** The URL of your runbooks, with `{tool}` and `{cause}` for those of an incident. Default: incidents link to none. */
  // It becomes a link of the page.
  readonly runbookUrl?: string = text("an http: or https: URL", isWebUrl, {
    variable: "HOLDFAST_DASHBOARD_RUNBOOK_URL",
  });
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
   * Identifies operators by the headers of a request. A login sends the operator's token once, as `Authorization: Bearer …`. `adminToken`
   * creates one.
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

import type { AdminEndpointOptions } from "../server/http/admin/admin-options.ts";
import { adminToken } from "../server/http/admin/admin-token.ts";
import type { DashboardEndpointOptions } from "../server/http/dashboard/dashboard-options.ts";
import type { HttpOptions } from "../server/http/http-options.ts";
import { isOrigin } from "../server/http/cors.ts";
import { defaultHttpLimits } from "../server/http/limits.ts";
import type { MetricsEndpointOptions } from "../server/http/metrics/metrics-options.ts";
import { isOperatorPath } from "../server/http/operator-path.ts";
import { HoldfastError } from "../task/fault.ts";
import { readAll, type EnvReader } from "./env-reader.ts";
import { numberKind } from "./kind.ts";
import { optionVariables, readOptions, type NumberRow } from "./option-variables.ts";
import { listKind, orAny, orSwitch, textKind } from "./text-kinds.ts";
import { variable } from "./variable.ts";

const rows: Readonly<Record<keyof typeof defaultHttpLimits, NumberRow>> = {
  requestTimeoutMs: ["time", "how long a client may take to send a request"],
  headersTimeoutMs: ["time", "how long it may take to send the headers"],
  keepAliveTimeoutMs: ["time", "how long a connection stays open between two requests"],
  stallTimeoutMs: ["time", "how long a client may read nothing while data waits for it"],
  resumeMs: ["time", "how long a request is held for its client after the connection breaks"],
  sessionIdleMs: ["time", "how long an idle session is kept"],
  unusedSessionMs: ["time", "the same for one that was never used"],
  maxSessions: ["number", "sessions at the same time"],
  maxSessionsPerPrincipal: ["number", "sessions of one principal at the same time"],
  maxOpenRequestsPerSession: ["number", "requests of one session without an answer"],
  maxOpenRequestsPerPrincipal: ["number", "requests of one principal without an answer"],
  maxConnections: ["number", "connections at the same time"],
  maxPendingBytes: ["size", "total size of requests being received"],
  maxOutgoingBytes: ["size", "total size of responses that clients have not read yet"],
  maxHeaderBytes: ["size", "headers of one request"],
  maxHeaders: ["number", "the number of headers of one request"],
  maxBatch: ["number", "messages in one request (2025-03-26 and before)"],
};

const limits = optionVariables(rows, {
  kindOf: (_, unit) => numberKind(unit, { min: 1 }),
  defaults: defaultHttpLimits,
});

/** A path that no request can have would never be served. */
const isPath = (text: string): boolean => pathIn(text) === text;
const path = textKind("a path that begins with `/`", isPath);
const operatorPath = textKind("a path such as `/ops`", isOperatorPath);
const origins = listKind("origins such as `https://app.example.com`", (text) =>
  isOrigin(text) ? text : undefined,
);
/** In the form of the Host header. */
const hostNames = listKind("host names without port", (text) => {
  const name = text.toLowerCase();
  return hostIn(name) === name ? name : undefined;
});

function pathIn(text: string): string | undefined {
  const at = `http://localhost${text}`;
  return text.startsWith("/") && URL.canParse(at) ? new URL(at).pathname : undefined;
}

function hostIn(name: string): string | undefined {
  const at = `http://${name}`;
  return URL.canParse(at) ? new URL(at).hostname : undefined;
}

const host = variable("host", textKind("an address or a name of this machine"), {
  meaning: "the address to listen on; addresses beyond this machine require callers to be told apart",
  default: "127.0.0.1",
});
const port = variable("port", numberKind("number", { min: 0, max: 65_535 }), {
  meaning: "the port; 0 for any free one",
  default: "3000",
});
const endpoint = variable("path", path, { meaning: "the path of the MCP endpoint", default: "/mcp" });
const allowedHosts = variable("allowedHosts", orAny(hostNames), {
  meaning:
    "accepted `Host` names; if not set: the names of this machine, or `any` when it listens beyond this machine",
});
const allowedOrigins = variable("allowedOrigins", orAny(hostNames), {
  meaning: "accepted names in `Origin`; if not set: the names of this machine",
});
const corsOrigins = variable("corsOrigins", orAny(origins), {
  meaning: "other origins whose web pages may read responses",
});
const maxRequestBodySize = variable("maxRequestBodySize", numberKind("size", { min: 1 }), {
  meaning: "the largest request; if not set: `HOLDFAST_MAX_BODY_BYTES` plus 64KiB",
});
const token = textKind("visible ASCII characters without spaces", (text) => /^[\x21-\x7e]+$/.test(text));
const adminSecret = variable("adminToken", token, {
  meaning:
    "turns on the [admin endpoint](#admin-endpoint) and grants access to it; `holdfast admin URL` sends it",
  isSecret: true,
});
const adminPath = variable("adminPath", operatorPath, {
  meaning: "the path of the admin endpoint",
  default: "/admin",
});

const dashboardPlace = variable("dashboard", orSwitch(operatorPath), {
  meaning:
    "serves the [dashboard](dashboard.md) there, or at `/holdfast` with `true`; its operators log in with `HOLDFAST_ADMIN_TOKEN`",
  default: "false",
});
const isTraceUrl = (text: string): boolean => /^https?:\/\/.*\{traceId\}/.test(text);
const traceUrl = variable("dashboardTraceUrl", textKind("a URL with `{traceId}` in it", isTraceUrl), {
  meaning: "the target of the dashboard's links to traces",
});

const metricsSecret = variable("metricsToken", token, {
  meaning: "turns on the metrics endpoint and grants access to it, if the program has metrics",
  isSecret: true,
});
const metricsPath = variable("metricsPath", operatorPath, {
  meaning: "the path of the metrics endpoint",
  default: "/metrics",
});

export const httpVariables = [
  host,
  port,
  endpoint,
  allowedHosts,
  allowedOrigins,
  corsOrigins,
  adminSecret,
  adminPath,
  dashboardPlace,
  traceUrl,
  metricsSecret,
  metricsPath,
  maxRequestBodySize,
  ...limits,
];

/** The options of `serveHttp` from an environment. */
export function readHttp(reader: EnvReader): HttpOptions {
  const corsOf = reader.read(corsOrigins);
  const admin = adminOf(reader);
  const dashboard = dashboardOf(reader, admin);
  return {
    ...readAll(reader, { host, port, path: endpoint, allowedHosts, allowedOrigins, maxRequestBodySize }),
    ...readOptions(reader, limits),
    ...(corsOf !== undefined && { cors: { origins: corsOf } }),
    ...(admin !== undefined && { admin }),
    ...(dashboard !== undefined && { dashboard }),
  };
}

function adminOf(reader: EnvReader): AdminEndpointOptions | undefined {
  const secret = reader.read(adminSecret);
  const place = readAll(reader, { path: adminPath });
  return secret === undefined ? undefined : { ...place, authenticate: adminToken(secret) };
}

/** Its operators are those of the admin endpoint. */
function dashboardOf(
  reader: EnvReader,
  admin: AdminEndpointOptions | undefined,
): DashboardEndpointOptions | undefined {
  const place = reader.read(dashboardPlace) ?? false;
  const traces = readAll(reader, { traceUrl });
  if (place === false) return undefined;
  if (admin === undefined) {
    const message = "its operators log in with HOLDFAST_ADMIN_TOKEN, which is not set.";
    reader.foundIn(dashboardPlace, new HoldfastError("configuration", message));
  }
  return { ...(place !== true && { path: place }), ...traces };
}

/** The metrics endpoint, without its contents; undefined without a token. */
export function readMetrics(reader: EnvReader): Omit<MetricsEndpointOptions, "source"> | undefined {
  const secret = reader.read(metricsSecret);
  const place = readAll(reader, { path: metricsPath });
  return secret === undefined ? undefined : { ...place, authenticate: adminToken(secret, "metrics") };
}

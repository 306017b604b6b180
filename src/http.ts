export { createAdminHandler } from "./server/http/admin/create-admin-handler.ts";
export type { OperatorEndpoint } from "./server/http/operator-endpoint.ts";
export type {
  AdminEndpointOptions,
  AuthenticateOperator,
  Operator,
} from "./server/http/admin/admin-options.ts";
export type { AdminHandlerOptions } from "./server/http/admin/admin-handler-options.ts";
export { adminToken } from "./server/http/admin/admin-token.ts";
export { createDashboard } from "./server/http/dashboard/create-dashboard.ts";
export type { DashboardEndpointOptions } from "./server/http/dashboard/dashboard-options.ts";
export type { DashboardOptions } from "./server/http/dashboard/dashboard-handler-options.ts";
export { createMetricsHandler } from "./server/http/metrics/create-metrics-handler.ts";
export type { MetricsHandlerOptions } from "./server/http/metrics/metrics-handler-options.ts";
export type { MetricsEndpointOptions, MetricsText } from "./server/http/metrics/metrics-options.ts";
export { createFetchHandler } from "./server/http/fetch-handler.ts";
export type { FetchHandler } from "./server/http/fetch-handler.ts";
export { createNodeHandler } from "./server/http/node-handler.ts";
export type { NextFunction, NodeHandler } from "./server/http/node-handler.ts";
export { serveHttp } from "./server/http/serve-http.ts";
export type { HttpServer } from "./server/http/serve-http.ts";
export type {
  Anonymous,
  Authenticate,
  AuthenticationContext,
  CorsOptions,
  FetchHandlerOptions,
  HttpOptions,
  Identity,
  NodeHandlerOptions,
  ProtectedResource,
  RequestContext,
} from "./server/http/http-options.ts";

export { createAdminHandler } from "./server/http/admin/create-admin-handler.ts";
export type { OperatorEndpoint } from "./server/http/operator-endpoint.ts";
export type {
  AdminEndpointOptions,
  AuthenticateOperator,
  Operator,
  AdminHandlerOptions,
  DashboardEndpointOptions,
  DashboardOptions,
  EndpointBeside,
  MetricsHandlerOptions,
  MetricsEndpointOptions,
  MetricsText,
} from "./server/http/operator-options.ts";
export { adminToken } from "./server/http/admin/admin-token.ts";
export { createDashboard } from "./server/http/dashboard/create-dashboard.ts";
export { createEventHandler } from "./server/http/events/create-event-handler.ts";
export type { EventHandlerOptions } from "./server/http/events/event-requests.ts";
export { createMetricsHandler } from "./server/http/metrics/create-metrics-handler.ts";
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
  HttpSession,
  Identity,
  NodeHandlerOptions,
  ProtectedResource,
  RequestContext,
} from "./server/http/http-options.ts";

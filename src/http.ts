export { createAdminHandler } from "./server/http/admin-endpoint.ts";
export { type OperatorEndpoint, adminToken } from "./server/http/operator-endpoint.ts";
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
  OpenIdOptions,
} from "./server/http/operator-options.ts";
export type { OperatorRole } from "./admin/roles.ts";
export { createDashboard } from "./server/http/dashboard/dashboard.ts";
export { createEventHandler, type EventHandlerOptions } from "./server/http/events-endpoint.ts";
export { createMetricsHandler } from "./server/http/metrics-endpoint.ts";
export { createFetchHandler, type FetchHandler } from "./server/http/fetch-handler.ts";
export { createNodeHandler, type NextFunction, type NodeHandler } from "./server/http/node-handler.ts";
export { serveHttp, type HttpServer } from "./server/http/serve-http.ts";
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

export { createAdminHandler } from "./server/http/admin/create-admin-handler.ts";
export type { AdminHandler } from "./server/http/admin/admin-handler.ts";
export type {
  AdminEndpointOptions,
  AuthenticateOperator,
  Operator,
} from "./server/http/admin/admin-options.ts";
export type { AdminHandlerOptions } from "./server/http/admin/admin-handler-options.ts";
export { adminToken } from "./server/http/admin/admin-token.ts";
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

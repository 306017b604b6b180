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

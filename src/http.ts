export { createFetchHandler } from "./server/http/fetch-handler.ts";
export type { FetchHandler } from "./server/http/fetch-handler.ts";
export { serveHttp } from "./server/http/serve-http.ts";
export type { HttpServer } from "./server/http/serve-http.ts";
export type {
  Anonymous,
  Authenticate,
  CorsOptions,
  FetchHandlerOptions,
  HttpOptions,
  Identity,
  ProtectedResource,
} from "./server/http/http-options.ts";

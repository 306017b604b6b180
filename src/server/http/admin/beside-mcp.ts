import type { RequestListener } from "node:http";
import { HoldfastError } from "../../../task/fault.ts";
import { assertOptionNames, type OptionNames } from "../../../task/option-names.ts";
import type { TaskServer } from "../../task-server.ts";
import type { HttpOptions } from "../http-options.ts";
import { pathnameOf } from "../node-request.ts";
import type { OpenWork } from "../open-work.ts";
import { adminHandler, type AdminHandler } from "./admin-handler.ts";
import type { AdminEndpointOptions } from "./admin-options.ts";

const endpointOptions: OptionNames<AdminEndpointOptions> = { path: true, authenticate: true };

/** The admin endpoint of a server that listens itself, under the names that its MCP endpoint has; undefined where none was asked for. */
export function adminBesideMcp(server: TaskServer, options: HttpOptions): AdminHandler | undefined {
  const { admin, path = "/mcp", allowedHosts, allowedOrigins, requestTimeoutMs } = options;
  if (admin === undefined) return undefined;
  assertOptionNames("admin", admin, endpointOptions);
  const handler = adminHandler(server, {
    ...admin,
    ...(allowedHosts !== undefined && { allowedHosts }),
    ...(allowedOrigins !== undefined && { allowedOrigins }),
    ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
  });
  if (handler.serves(path)) {
    const message = `The admin endpoint at ${handler.path} would hide the MCP endpoint at ${path}.`;
    throw new HoldfastError("configuration", message);
  }
  return handler;
}

/** Who gets a request: the endpoint of operators, or that of clients. A stop waits for the answers of both. */
export function listenerOf(
  handle: RequestListener,
  admin: AdminHandler | undefined,
  open: Pick<OpenWork, "begin">,
): RequestListener {
  if (admin === undefined) return handle;
  return (incoming, outgoing) => {
    if (!admin.serves(pathnameOf(incoming))) return handle(incoming, outgoing);
    outgoing.once("close", open.begin(false));
    admin(incoming, outgoing);
  };
}

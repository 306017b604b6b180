import type { AuthInfo, Transport } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import { assertOptions, isObject, number, settingsOf, tableOf, value } from "../../options/options.ts";
import type { Identity } from "../http/http-options.ts";
import { authInfoOf } from "../http/sessions/incoming.ts";
import { senderFrom, senderOf, type Sender } from "../http/identify.ts";
import { onePipe } from "../streams.ts";
import { assertTaskServer, type TaskServer } from "../task-server.ts";
import { CallerTransport } from "./caller-transport.ts";
import { RatedTransport } from "./rated-transport.ts";

export class TransportOptions {
  /**
   * The caller that your authentication found, such as `req.auth`. Its tasks belong to the same subject as in `createNodeHandler`. Messages
   * that arrive as HTTP requests need the same caller.
   */
  readonly authInfo?: AuthInfo | undefined = value("an AuthInfo of the SDK", isObject);
  /** The caller, for a transport with its own authentication: an identity, or just the principal's name. */
  readonly identity?: Identity | string = value(
    "an identity, or the name of a principal",
    (given) => typeof given === "string" || isObject(given),
  );
  /** Maximum number of unanswered requests of the client; one more is refused with -32000. Default 1,000. */
  readonly maxOpenRequests?: number = number({ min: 1, default: 1_000 });
}

const transportOptions = tableOf(TransportOptions);

/** A connection over a transport. */
export interface TransportConnection {
  /** Closes the connection. Its tasks continue. */
  close(): Promise<void>;
}

/**
 * Serves the one client at the other end of `transport`: any transport of the SDK that is not started yet, such as that of HTTP+SSE, or
 * your own. The connection begins with a handshake of protocol 2025-11-25 or earlier. Starts the tasks if they are not started; they
 * continue when the connection ends. Without `authInfo` or `identity`, callers are not told apart, and anyone with a task's id can access
 * the task.
 *
 * ```ts
 * app.get("/sse", async (request, response) => {
 *   await serveTransport(server, new SSEServerTransport("/messages", response), { authInfo: request.auth });
 * });
 * ```
 */
export async function serveTransport(
  server: TaskServer,
  transport: Transport,
  options: TransportOptions = {},
): Promise<TransportConnection> {
  assertTaskServer("serveTransport", server);
  assertOptions("serveTransport", options, transportOptions);
  const { maxOpenRequests } = settingsOf<TransportOptions, "authInfo" | "identity">(
    transportOptions,
    options,
  );
  const sender = senderIn(options);
  const { principal } = sender;
  await server.start();
  const session = await server.openSession({ era: "legacy", ...authInfoOf(sender) }, sender, onePipe);
  const caller = new CallerTransport(transport, { server, sender });
  await session.connect(new RatedTransport(caller, { server, principal, maxOpenRequests }));
  return { close: () => session.close() };
}

function senderIn({ authInfo, identity }: TransportOptions): Sender {
  if (identity === undefined) return senderFrom({ auth: authInfo }, {}) ?? { principal: null };
  if (authInfo === undefined)
    return senderOf(typeof identity === "string" ? { principal: identity } : identity);
  const message =
    "serveTransport takes either authInfo or identity. An identity can carry its own authInfo for the handlers.";
  throw new HoldfastError("configuration", message);
}

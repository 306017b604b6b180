import type { Transport } from "@modelcontextprotocol/client";
import type { TransportKind } from "../client-events.ts";
import type { ClientClock } from "../clock.ts";
import type { TracedPeer } from "../client-telemetry.ts";
import type { ConnectOptions } from "../connect-options.ts";
import { httpConnection, sseConnection, type HttpOptions } from "./http-connection.ts";
import type { ResponseRecords } from "./recording-fetch.ts";
import { ProcessTransport } from "./process-transport.ts";
import { processName, type ServerProcess } from "./server-process.ts";
import { hasCredentials, httpPeer, httpUrl, targets } from "./server-url.ts";

/** What `connect` connects to: a URL, a process to start, or a transport of the SDK that is not started yet. */
export type ServerTarget = string | URL | ServerProcess | Transport;

/** A connection to a server that is not open yet. */
export interface ServerConnection {
  /** The server's name in task references. */
  readonly name: string;
  readonly transport: Transport;
  /** Undefined for a transport that you passed in. */
  readonly kind: TransportKind | undefined;
  readonly peer: TracedPeer;
  /** Undefined on transports other than Streamable HTTP. */
  readonly origin?: string;
  /** The HTTP response of each request; undefined on other transports. */
  readonly responses?: ResponseRecords;
  /** Ends the session on the server; gives up after a second. */
  readonly endSession?: () => Promise<void>;
  /** Sets the listener for the loss of the standalone stream: the server ended it and refuses a new one. */
  readonly onStreamLost?: (listener: () => void) => void;
}

export interface ConnectionOptions extends HttpOptions, Pick<ConnectOptions, "serverName"> {
  /** The transport for a URL; default Streamable HTTP. */
  readonly isHttpSse?: boolean;
}

export function connectionTo(
  target: ServerTarget,
  options: ConnectionOptions,
  clock: ClientClock,
): ServerConnection {
  const { serverName } = options;
  if (typeof target === "string" || target instanceof URL) {
    const url = httpUrl(target);
    if (hasCredentials(url)) {
      // References name the server by its URL, and are stored and logged.
      throw new TypeError(
        "The server's URL contains a user name or password: pass them in `headers`, or a `token`",
      );
    }
    const { href, origin } = url;
    const http = { name: serverName ?? href, peer: httpPeer(url) };
    if (options.isHttpSse === true)
      return { ...http, kind: "http+sse", ...sseConnection(url, options, clock) };
    return { ...http, kind: "http", origin, ...httpConnection(url, options, clock) };
  }
  if (typeof target !== "object" || target === null)
    throw new TypeError(`connect takes ${targets}, not ${typeof target}.`);
  if ("command" in target) {
    const transport = new ProcessTransport(target, clock);
    const name = serverName ?? processName(target);
    return { name, kind: "stdio", peer: { transport: "stdio" }, transport };
  }
  return { name: serverName ?? "transport", kind: undefined, peer: {}, transport: target };
}

/** The name and address of a server over HTTP in references; undefined for others. */
export function httpAddress(
  target: ServerTarget,
  { serverName }: Pick<ConnectionOptions, "serverName">,
): { readonly server: string; readonly origin: string } | undefined {
  if (typeof target !== "string" && !(target instanceof URL)) return undefined;
  const { href, origin } = httpUrl(target);
  return { server: serverName ?? href, origin };
}

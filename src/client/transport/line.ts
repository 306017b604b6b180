import type { Transport } from "@modelcontextprotocol/client";
import type { ClientClock } from "../clock.ts";
import type { ConnectOptions } from "../connect-options.ts";
import { httpLine } from "./http-line.ts";
import type { ResponseNotes } from "./noted-fetch.ts";
import { ProcessTransport } from "./process-transport.ts";
import { processName, type ServerProcess } from "./server-process.ts";

/** What `connect` connects to: a URL, a process to start, or a transport of the SDK that is not started yet. */
export type ServerTarget = string | URL | ServerProcess | Transport;

/** A way to a server, not yet begun. */
export interface Line {
  /** How task references name the server. */
  readonly name: string;
  readonly transport: Transport;
  /** Notes of the response to each request, where every request has a response of its own. */
  readonly notes?: ResponseNotes;
  /** Tells the server that the session is over, as far as that can be had in time. */
  readonly endSession?: () => Promise<void>;
  /** Takes what is to be told when the stream of the session ended and the server gives no other. */
  readonly onStreamLost?: (listener: () => void) => void;
}

type LineOptions = Pick<ConnectOptions, "fetch" | "headers" | "token" | "serverName">;

export function lineTo(target: ServerTarget, options: LineOptions, clock: ClientClock): Line {
  const { serverName } = options;
  if (typeof target === "string" || target instanceof URL) {
    const url = httpUrl(target);
    if (hasCredentials(url)) {
      // References name the server by its URL, and are stored and logged.
      throw new TypeError(
        "The server's URL contains a user name or password: pass them in `headers`, or a `token`",
      );
    }
    return { name: serverName ?? url.href, ...httpLine(url, options, clock) };
  }
  if (typeof target !== "object" || target === null)
    throw new TypeError(`connect takes ${targets}, not ${typeof target}.`);
  if ("command" in target) {
    return { name: serverName ?? processName(target), transport: new ProcessTransport(target, clock) };
  }
  return { name: serverName ?? "transport", transport: target };
}

export function hasCredentials({ username, password }: URL): boolean {
  return username !== "" || password !== "";
}

const targets = 'a URL, such as "http://127.0.0.1:3000/mcp", a process to start, or a transport of the SDK';

function httpUrl(target: string | URL): URL {
  const url = target instanceof URL ? target : URL.parse(target);
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  // A password is not to get into logs.
  const named = String(target).replace(/^.*@/su, "");
  throw new TypeError(`connect takes ${targets}, not ${JSON.stringify(named)}.`);
}

import { Agent } from "node:https";
import type { FetchLike } from "@modelcontextprotocol/client";
import type { ProtocolVersion } from "../../generation/generations.ts";
import { systemClock } from "../../client/clock.ts";
import { connect } from "../../client/connect.ts";
import type { ConnectOptions } from "../../client/connect-options.ts";
import type { LoginStore } from "../../client/auth/login.ts";
import type { HandleStore } from "../../client/handles/handle-store.ts";
import type { OnInput } from "../../client/question/ask-user.ts";
import type { TaskClient } from "../../client/task-client.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import { fetchBy, fetchWithoutTimeout } from "../../client/transport/node-fetch.ts";
import type { TransportKind, ClientEvent } from "../../client/client-events.ts";
import type { ServerOptions } from "../context.ts";
import { UsageError } from "../errors.ts";
import type { Io } from "../io.ts";
import type { Terminal, Display } from "../terminal/terminal.ts";
import { explainConnectFailure, explainLoss } from "./connect-failure.ts";
import type { FoundServer } from "./find-server.ts";
import { SessionTransport } from "../session/open-sessions.ts";
import { hasAuthorization, readCredentials } from "./credentials.ts";
import { wireWatch } from "./wire.ts";

/** How many characters of a server's stderr are kept. */
const maxLogCharacters = 10_000;

/** The protocol for a task that is visible in no other, whatever `--protocol` says. Empty: the latest that the server supports. */
export type ProtocolChoice = Pick<ConnectOptions, "protocolVersion" | "generation">;

interface OpenOptions {
  readonly server: FoundServer;
  readonly options: ServerOptions;
  readonly io: Pick<Io, "env" | "stderr" | "cwd">;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  readonly handles: HandleStore;
  readonly logins: LoginStore;
  readonly onInput: OnInput;
  readonly protocol: ProtocolChoice;
}

interface OpenedServer {
  readonly client: TaskClient;
  readonly transport: TransportKind | undefined;
  /** Adds the end of the server's log to an error of the connection. */
  readonly explainLoss: (error: unknown) => unknown;
}

/** Connects as `connect` does; adds a hint and the server's log to errors. */
export async function openServer({
  server,
  options,
  io,
  terminal,
  signal,
  handles,
  logins,
  onInput,
  protocol,
}: OpenOptions): Promise<OpenedServer> {
  const { target, name } = server;
  let log = "";
  const credentials = readCredentials(server, options, io.env);
  const { headers, token } = credentials;
  let transport: TransportKind | undefined;
  const { connectTimeout } = options;
  const fetch = options.insecure === true ? insecureFetch(server) : undefined;
  const onMessage = wireWatch(options, io, terminal.display);
  const deadline = connectTimeout === undefined ? undefined : systemClock.deadline(connectTimeout * 1000);
  const session = server.session && new SessionTransport(server.session.address);
  const agreed = server.session?.protocolVersion as ProtocolVersion | undefined;
  terminal.display.connecting(server.shown);
  try {
    const client = await connect(
      session ??
        (typeof target === "string"
          ? target
          : { ...target, stderr: (text) => (log = (log + text).slice(-maxLogCharacters)) }),
      {
        serverName: name,
        headers,
        ...(token !== undefined && { token }),
        ...(!hasAuthorization(credentials) && { auth: logins }),
        capabilities: terminal.capabilities,
        onInput,
        signal: deadline === undefined ? signal : AbortSignal.any([signal, deadline.signal]),
        handles,
        ...(fetch && { fetch }),
        ...(onMessage && { onMessage }),
        onEvent: (event) => {
          if (event.type === "connected") transport = event.transport;
          showTrouble(event, terminal.display);
        },
        ...(options.protocol !== undefined && { protocolVersion: options.protocol }),
        ...protocol,
        ...(agreed !== undefined && { protocolVersion: agreed }),
      },
    );
    terminal.display.connected();
    return { client, transport, explainLoss: (error) => explainLoss(error, server, session?.log ?? log) };
  } catch (error) {
    const isLate = deadline?.signal.aborted === true && error === deadline.signal.reason;
    const late = `it did not answer within ${connectTimeout} s, as --connect-timeout says`;
    throw explainConnectFailure(
      isLate ? new TaskClientError("connection", late) : error,
      server,
      session?.log ?? log,
    );
  } finally {
    deadline?.clear();
  }
}

/** Accepts any certificate of this server. The servers of its logins are reached as usual: what they get is secret. */
function insecureFetch({ target }: FoundServer): FetchLike {
  if (typeof target !== "string" || !target.startsWith("https:"))
    throw new UsageError("--insecure is for servers with an https: URL.");
  const { origin } = new URL(target);
  const insecure = fetchBy({ agent: new Agent({ keepAlive: true, rejectUnauthorized: false }) });
  return async (url, init) =>
    new URL(url).origin === origin ? insecure(url, init) : fetchWithoutTimeout(url, init);
}

/** Shows from the first failure on that the server cannot be reached or fails, and when it answers again. */
export function showTrouble(event: ClientEvent, display: Pick<Display, "trouble">): void {
  const { type } = event;
  if (type === "poll_failed" || type === "call_delayed") {
    const { rpcCode } = event;
    const what = rpcCode === undefined ? "server unreachable" : `server error (${rpcCode})`;
    display.trouble(`${what}, trying again`);
  } else if (type === "poll_recovered" || type === "call_answered" || type === "task_seen") {
    display.trouble(undefined);
  }
}

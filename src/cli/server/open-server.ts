import { connect } from "../../client/connect.ts";
import type { ConnectOptions } from "../../client/connect-options.ts";
import type { LoginStore } from "../../client/auth/login.ts";
import type { HandleStore } from "../../client/handles/handle-store.ts";
import type { OnInput } from "../../client/question/input-request.ts";
import type { TaskClient } from "../../client/task-client.ts";
import type { TransportKind, ClientEvent } from "../../client/client-events.ts";
import type { ServerOptions } from "../context.ts";
import type { Io } from "../io.ts";
import type { Terminal, Display } from "../terminal/terminal.ts";
import { explainConnectFailure, explainLoss } from "./connect-failure.ts";
import type { FoundServer } from "./find-server.ts";
import { hasAuthorization, readCredentials } from "./credentials.ts";

/** How many characters of a server's stderr are kept. */
const maxLogCharacters = 10_000;

/** The protocol for a task that is visible in no other. Empty: the latest that the server supports. */
export type ProtocolChoice = Pick<ConnectOptions, "protocolVersion" | "generation">;

interface OpenOptions {
  readonly server: FoundServer;
  readonly options: ServerOptions;
  readonly env: Io["env"];
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
  env,
  terminal,
  signal,
  handles,
  logins,
  onInput,
  protocol,
}: OpenOptions): Promise<OpenedServer> {
  const { target, name } = server;
  let log = "";
  const credentials = readCredentials(server, options, env);
  const { headers, token } = credentials;
  let transport: TransportKind | undefined;
  terminal.display.connecting(server.shown);
  try {
    const client = await connect(
      typeof target === "string"
        ? target
        : { ...target, stderr: (text) => (log = (log + text).slice(-maxLogCharacters)) },
      {
        serverName: name,
        headers,
        ...(token !== undefined && { token }),
        ...(!hasAuthorization(credentials) && { auth: logins }),
        capabilities: terminal.capabilities,
        onInput,
        signal,
        handles,
        onEvent: (event) => {
          if (event.type === "connected") transport = event.transport;
          showTrouble(event, terminal.display);
        },
        ...protocol,
      },
    );
    terminal.display.connected();
    return { client, transport, explainLoss: (error) => explainLoss(error, server, log) };
  } catch (error) {
    throw explainConnectFailure(error, server, log);
  }
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

import { connect } from "../../client/connect.ts";
import type { ConnectOptions } from "../../client/connect-options.ts";
import type { HandleStore } from "../../client/handles/handle-store.ts";
import type { OnInput } from "../../client/question/input-request.ts";
import type { TaskClient } from "../../client/task-client.ts";
import type { ServerOptions } from "../context.ts";
import type { Io } from "../io.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { explainConnectFailure, explainLoss, mayBeSse } from "./connect-failure.ts";
import type { FoundServer } from "./find-server.ts";
import { readCredentials } from "./read-headers.ts";
import { isSseServer } from "./sse-server.ts";

/** Characters of a server's stderr: a chatty one must not fill the memory. */
const longestLog = 10_000;

/** What has to be spoken, for tasks that can be seen in no other form; nothing: the latest that the server has. */
export type Speaking = Pick<ConnectOptions, "protocolVersion" | "generation">;

interface OpenOptions {
  readonly server: FoundServer;
  readonly options: ServerOptions;
  readonly env: Io["env"];
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  readonly handles: HandleStore;
  readonly onInput: OnInput;
  readonly speaking: Speaking;
}

interface OpenedServer {
  readonly client: TaskClient;
  /** An error of the connection, with what a process that has ended had to say. */
  readonly explainLoss: (error: unknown) => unknown;
}

/** Connects as `connect` does; an error about a process that ended tells what the process had to say. */
export async function openServer({
  server,
  options,
  env,
  terminal,
  signal,
  handles,
  onInput,
  speaking,
}: OpenOptions): Promise<OpenedServer> {
  const { target, name } = server;
  let log = "";
  const { headers, token } = readCredentials(server, options, env);
  terminal.display.connecting(server.spec.given);
  try {
    const client = await connect(
      typeof target === "string"
        ? target
        : { ...target, stderr: (text) => (log = (log + text).slice(-longestLog)) },
      {
        serverName: name,
        headers,
        ...(token !== undefined && { token }),
        capabilities: terminal.capabilities,
        onInput,
        signal,
        handles,
        ...speaking,
      },
    );
    terminal.display.connected();
    return { client, explainLoss: (error) => explainLoss(error, log) };
  } catch (error) {
    const authorized = { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) };
    const isSse =
      typeof target === "string" && mayBeSse(error) && (await isSseServer(target, authorized, signal));
    throw explainConnectFailure(error, server, { log, isSse });
  }
}

import { connect } from "../../client/connect.ts";
import type { ProtocolVersion } from "../../client/connect-options.ts";
import type { HandleStore } from "../../client/handles/handle-store.ts";
import type { OnInput } from "../../client/question/input-request.ts";
import type { TaskClient } from "../../client/task-client.ts";
import type { ServerOptions } from "../context.ts";
import type { Io } from "../io.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { UsageError } from "../usage-error.ts";
import { explainConnectFailure } from "./connect-failure.ts";
import type { FoundServer } from "./find-server.ts";

/** Characters of a server's stderr: a chatty one must not fill the memory. */
const longestLog = 10_000;

interface OpenOptions {
  readonly server: FoundServer;
  readonly options: ServerOptions;
  readonly env: Io["env"];
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  readonly handles: HandleStore;
  readonly onInput: OnInput;
  readonly protocolVersion: ProtocolVersion | undefined;
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
  protocolVersion,
}: OpenOptions): Promise<TaskClient> {
  const { target, name, headers } = server;
  let log = "";
  const token = options.token ?? env["HOLDFAST_TOKEN"];
  terminal.display.connecting(server.spec.given);
  try {
    const client = await connect(
      typeof target === "string"
        ? target
        : { ...target, stderr: (text) => (log = (log + text).slice(-longestLog)) },
      {
        serverName: name,
        headers: { ...headers, ...readHeaders(options.header) },
        ...(token !== undefined && token !== "" && { token }),
        capabilities: terminal.capabilities,
        onInput,
        signal,
        handles,
        ...(protocolVersion !== undefined && { protocolVersion }),
      },
    );
    terminal.display.connected();
    return client;
  } catch (error) {
    throw explainConnectFailure(error, server, log);
  }
}

function readHeaders(given: readonly string[] = []): Record<string, string> {
  const headers = given.map((line): [string, string] => {
    const { name, value } = /^(?<name>[!#$%&'*+.^_`|~\w-]+)\s*:\s*(?<value>.*)$/s.exec(line)?.groups ?? {};
    if (name === undefined || value === undefined) {
      throw new UsageError(`--header takes "Name: value", not ${JSON.stringify(line)}.`);
    }
    return [name, value.trim()];
  });
  return Object.fromEntries(headers);
}

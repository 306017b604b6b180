import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import {
  createTaskSessionFromClient,
  type ApplicationInputHandler,
  type TaskEnabledSession,
} from "@modelcontextprotocol/ext-tasks/client";
import { compileCache } from "../compile-cache.ts";
import { EverythingServer, root } from "../conformance/everything-server.ts";
import type { Way } from "./sdk-v1-client.ts";

/** The requester session of ext-tasks on a connection of 2025-11-25, with a server of its own. */
export interface Peers extends AsyncDisposable {
  readonly session: TaskEnabledSession;
  /** The methods of what it sent, in their order. */
  readonly sent: string[];
  readonly errors: Error[];
}

export async function peers(way: Way, onInputRequest: ApplicationInputHandler["handle"]): Promise<Peers> {
  const http = way === "http" ? new EverythingServer() : undefined;
  const client = new Client(
    { name: "report-desk", version: "0.1.0" },
    { capabilities: { elicitation: { form: {} }, sampling: {} } },
  );
  const sent: string[] = [];
  const transport =
    http === undefined ? onStdio() : new StreamableHTTPClientTransport(new URL(await http.url));
  await client.connect(noting(transport, sent));
  const errors: Error[] = [];
  const session = createTaskSessionFromClient(client, {
    endpointId: "everything",
    onInputRequest,
    onError: (error) => errors.push(error),
  });
  return {
    session,
    sent,
    errors,
    async [Symbol.asyncDispose]() {
      await session.close();
      await client.close();
      await http?.stop();
    },
  };
}

function onStdio(): Transport {
  return new StdioClientTransport({
    command: process.execPath,
    args: [`${root}test/everything/main.ts`, "--stdio"],
    cwd: root,
    env: { ...compileCache, HOLDFAST_STORE: "memory:" },
  });
}

function noting(transport: Transport, sent: string[]): Transport {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if ("method" in message) sent.push(message.method);
    return send(message, options);
  };
  return transport;
}

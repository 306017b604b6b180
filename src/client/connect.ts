import type { ClientCapabilities } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/client";
import { envelope, protocolVersion, withoutTasksOnCall, withTasks } from "./2026-07-28/envelope.ts";
import { ExtensionProtocol } from "./2026-07-28/extension-protocol.ts";
import { systemClock, type ClientClock } from "./clock.ts";
import { connectError } from "./transport/connect-error.ts";
import type { ConnectOptions } from "./connect-options.ts";
import { ConnectedClient } from "./connected-client.ts";
import { assertNodeVersion } from "../task/node-version.ts";
import { RawRequester } from "./transport/raw-requester.ts";
import { setSdkHandlers } from "./question/sdk-handlers.ts";
import type { TaskClient } from "./task-client.ts";
import { TaskClientError } from "./task-client-error.ts";

/**
 * Connects to an MCP server at its Streamable HTTP endpoint, in protocol 2026-07-28 with the tasks extension where
 * the server has it. Throws a TaskClientError if the server is not there now (`connection`), wants another token
 * (`unauthorized`) or speaks no such protocol (`protocol`). Once connected, waits survive the server's restarts.
 *
 * ```ts
 * const client = await connect("http://127.0.0.1:3000/mcp", { onInput: askOnTerminal });
 * const result = await client.callTool("publish_report", { month: "2026-10" });
 * await client.close();
 * ```
 */
export async function connect(url: string | URL, options: ConnectOptions = {}): Promise<TaskClient> {
  return connectWith(url, options, systemClock);
}

/** The same, on a given clock. */
export async function connectWith(
  url: string | URL,
  options: ConnectOptions,
  clock: ClientClock,
): Promise<TaskClient> {
  const { onInput, onInputError, token, headers, signal, pollFloorMs = 250 } = options;
  assertNodeVersion(process.versions.node);
  signal?.throwIfAborted();
  if (!Number.isFinite(pollFloorMs) || pollFloorMs < 0) {
    throw new RangeError(`pollFloorMs has to be a number from 0 on, not ${pollFloorMs}.`);
  }
  const server = new URL(url);
  const clientInfo = options.clientInfo ?? { name: "holdfast", version: "0.1.0" };
  const capabilities = options.capabilities ?? defaultCapabilities(onInput !== undefined);
  const requester = new RawRequester(
    server,
    {
      fetch: options.fetch ?? (async (target, init) => fetch(target, init)),
      amend: withoutTasksOnCall,
      ...(headers !== undefined && { requestInit: { headers: { ...headers } } }),
      ...(token !== undefined && { authProvider: { token: async () => readToken(token) } }),
    },
    clock,
  );
  const sdk = new Client(clientInfo, {
    capabilities: withTasks(capabilities),
    versionNegotiation: { mode: { pin: protocolVersion } },
  });
  if (onInput !== undefined) setSdkHandlers(sdk, capabilities, onInput);
  await negotiate(sdk, requester, server, signal);
  const protocol = new ExtensionProtocol({
    requester,
    clock,
    meta: envelope(capabilities, clientInfo),
    server: sdk.getServerCapabilities(),
  });
  const callbacks = { onInput, onInputError, declares: declaredBy(capabilities) };
  return new ConnectedClient({ sdk, server: server.href, protocol, clock, callbacks, pollFloorMs });
}

async function negotiate(
  sdk: Client,
  requester: RawRequester,
  server: URL,
  signal: AbortSignal | undefined,
): Promise<void> {
  // The SDK does not look at a signal while it negotiates, but a closed transport ends that.
  const onAbort = (): void => void requester.close().catch(() => undefined);
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    await sdk.connect(requester);
    signal?.throwIfAborted();
  } catch (error) {
    await sdk.close().catch(() => undefined);
    signal?.throwIfAborted();
    throw connectError(error, server);
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

function declaredBy(capabilities: ClientCapabilities): (method: string) => boolean {
  const names: Readonly<Record<string, keyof ClientCapabilities>> = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
  };
  return (method) => {
    const name = names[method];
    return name !== undefined && capabilities[name] !== undefined;
  };
}

function defaultCapabilities(canAsk: boolean): ClientCapabilities {
  return canAsk ? { elicitation: { form: {} } } : {};
}

async function readToken(token: NonNullable<ConnectOptions["token"]>): Promise<string | undefined> {
  if (typeof token === "string") return token;
  try {
    return await token();
  } catch (cause) {
    throw new TaskClientError("unauthorized", "The token option threw", { cause });
  }
}

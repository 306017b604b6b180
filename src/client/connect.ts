import type { ClientCapabilities } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/client";
import { envelope, protocolVersion, withoutTasksOnCall, withTasks } from "./2026-07-28/envelope.ts";
import { ExtensionProtocol } from "./2026-07-28/extension-protocol.ts";
import { systemClock, type ClientClock } from "./clock.ts";
import { connectError } from "./transport/connect-error.ts";
import type { ConnectOptions } from "./connect-options.ts";
import { ConnectedClient } from "./connected-client.ts";
import { assertNodeVersion } from "../task/node-version.ts";
import { packageVersion } from "./package-version.ts";
import { lineTo, type ServerTarget } from "./transport/line.ts";
import { RawRequester } from "./transport/raw-requester.ts";
import { setSdkHandlers } from "./question/sdk-handlers.ts";
import type { TaskClient } from "./task-client.ts";

/**
 * Connects to an MCP server, in protocol 2026-07-28 with the tasks extension where the server has it: at its Streamable
 * HTTP endpoint, as a process to start, or over a transport of the SDK. Throws a TaskClientError if the server is not
 * there now (`connection`), wants another token (`unauthorized`) or speaks no such protocol (`protocol`).
 *
 * Once connected over HTTP, waits survive the server's restarts. A process cannot be reached again: when it ends, all
 * that waits ends with `connection`, and its tasks are taken up by `resume` on a new connection. `close` ends the
 * process that was started: its stdin first, after two seconds SIGTERM, after two more SIGKILL.
 *
 * ```ts
 * const client = await connect("http://127.0.0.1:3000/mcp", { onInput: askOnTerminal });
 * const result = await client.callTool("publish_report", { month: "2026-10" });
 * await client.close();
 * ```
 *
 * ```ts
 * const client = await connect({ command: "node", args: ["server.js"] });
 * ```
 */
export async function connect(server: ServerTarget, options: ConnectOptions = {}): Promise<TaskClient> {
  return connectWith(server, options, systemClock);
}

/** The same, on a given clock. */
export async function connectWith(
  server: ServerTarget,
  options: ConnectOptions,
  clock: ClientClock,
): Promise<TaskClient> {
  const { onInput, onInputError, signal, pollFloorMs = 250, listen = true } = options;
  assertNodeVersion(process.versions.node);
  signal?.throwIfAborted();
  if (!Number.isFinite(pollFloorMs) || pollFloorMs < 0) {
    throw new RangeError(`pollFloorMs has to be a number from 0 on, not ${pollFloorMs}.`);
  }
  const clientInfo = options.clientInfo ?? { name: "holdfast", version: packageVersion };
  const capabilities = options.capabilities ?? defaultCapabilities(onInput !== undefined);
  const line = lineTo(server, options);
  const requester = new RawRequester(line, { clock, amend: withoutTasksOnCall });
  const sdk = new Client(clientInfo, {
    capabilities: withTasks(capabilities),
    versionNegotiation: { mode: { pin: protocolVersion } },
  });
  if (onInput !== undefined) setSdkHandlers(sdk, capabilities, onInput);
  await negotiate(sdk, requester, line.name, signal);
  const protocol = new ExtensionProtocol({
    requester,
    clock,
    meta: envelope(capabilities, clientInfo),
    server: sdk.getServerCapabilities(),
  });
  const callbacks = { onInput, onInputError, declares: declaredBy(capabilities) };
  const { over } = requester;
  return new ConnectedClient({
    sdk,
    server: line.name,
    protocol,
    clock,
    callbacks,
    pollFloorMs,
    listen,
    over,
  });
}

async function negotiate(
  sdk: Client,
  requester: RawRequester,
  server: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  // The SDK does not look at a signal while it negotiates, but a closed transport ends that.
  const onAbort = (): void => void requester.close().catch(() => undefined);
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    await sdk.connect(requester);
    signal?.throwIfAborted();
  } catch (error) {
    await requester.close().catch(() => undefined);
    await sdk.close().catch(() => undefined);
    signal?.throwIfAborted();
    throw connectError(error, server, requester.endedThere);
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

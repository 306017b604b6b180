import { isJSONRPCRequest, type JSONRPCMessage } from "@modelcontextprotocol/client";
import { extensionId } from "../generation/2026-07-28.ts";
import { taskLinesCapability, withTaskLines } from "../generation/extensions.ts";
import { isJsonObject, type JsonObject } from "../generation/message.ts";
import { ConnectedClient } from "./connected-client.ts";
import { generationAt, type WireGenerationName } from "../generation/generations.ts";
import { type ClientClock, systemClock } from "./clock.ts";
import { fileHandles } from "./handles/file-handles.ts";
import type { StoredCall } from "./handles/handle-store.ts";
import { assertConnectOptions, connectOptions, type ConnectOptions } from "./connect-options.ts";
import { ClientEvents } from "./client-events.ts";
import { clientGenerations, declaredCapabilities, PreparedGenerations } from "./generations.ts";
import { assertNodeVersion, packageVersion } from "../task/package.ts";
import { settingsOf } from "../options/options.ts";
import { inThisContext, ownContext } from "../runtime/own-context.ts";
import { errorReporter } from "../runtime/error-reporter.ts";
import type { ServerTarget } from "./transport/server-connection.ts";
import { openConnection } from "./transport/open-connection.ts";
import { declaredBy, defaultCapabilities, setSdkQuestionHandlers } from "./question/ask-user.ts";
import { TaskSessions } from "./session/task-sessions.ts";
import { loadReceiver } from "./session/receiver/load-receiver.ts";
import type { TaskClient } from "./task-client.ts";
import { ReadableLists } from "./reply/readable-lists.ts";
import { TaskClientError } from "./task-client-error.ts";

/**
 * Rewrites the handshake of revisions with sessions: removes the tasks extension, which only later revisions have, declares instead that
 * the client accepts pushes of logs and outputs, and declares the tasks that this client runs, if any. `tasks` makes that declaration for
 * a protocol version.
 */
function rewriteInitialize(
  message: JSONRPCMessage,
  tasks: ((version: unknown, declared: JsonObject) => object | undefined) | undefined,
): JSONRPCMessage {
  if (!isJSONRPCRequest(message) || message.method !== "initialize") return message;
  const { capabilities, protocolVersion } = message.params ?? {};
  if (!isJsonObject(capabilities)) return message;
  const { extensions, ...declared } = capabilities;
  const {
    [extensionId]: _,
    [taskLinesCapability]: lines,
    ...others
  } = isJsonObject(extensions) ? extensions : {};
  const received = tasks?.(protocolVersion, declared);
  const kept = {
    ...(lines === undefined ? declared : withTaskLines(declared, "experimental")),
    ...(Object.keys(others).length > 0 && { extensions: others }),
    ...(received !== undefined && { tasks: received }),
  };
  return { ...message, params: { ...message.params, capabilities: kept } };
}

/**
 * Connects to an MCP server: at its URL, as a process to start, or over a transport of the SDK.
 * Rejects with a `TaskClientError` if the server cannot be reached (`connection`), needs a different token
 * (`unauthorized`) or speaks no protocol that this client does (`protocol`).
 *
 * The client speaks protocol 2026-07-28 with the tasks extension if the server does, otherwise 2025-11-25 with its tasks,
 * otherwise an earlier version with the tasks of SEP-1686. With a server without tasks, calls are plain requests and end
 * with the connection.
 *
 * A URL that answers POSTs with 400, 404 or 405 is asked by GET whether it has the HTTP+SSE transport of 2024-11-05. Such a
 * connection cannot be resumed: when its stream ends, all waits reject with `connection`.
 *
 * Over Streamable HTTP, waits survive restarts of the server, also when they end the session. A process cannot be reached again: when
 * it ends, all waits reject with `connection`, and `resume` on a new connection finds its tasks. `close` ends the process
 * and everything that it started, as behind `npx` and `sh -c`: it closes stdin, sends SIGTERM after two seconds and
 * SIGKILL after two more. On POSIX the process has a process group of its own, which is ended in the same way when this
 * process dies; the terminal's Ctrl-C does not reach it, and it cannot ask on the terminal.
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

/** `connect` with a given clock. `renegotiates`: whether a server that comes to speak another revision is connected to again. */
export async function connectWith(
  server: ServerTarget,
  options: ConnectOptions,
  clock: ClientClock,
  renegotiates = true,
): Promise<TaskClient> {
  assertNodeVersion(globalThis.process?.versions?.node);
  assertConnectOptions(options);
  const { signal } = options;
  const { onInput, handles } = options;
  const onInputError = options.onInputError && inThisContext(options.onInputError);
  const inOwnContext = ownContext();
  const { callTimeoutMs: timeoutMs, unreachableTimeoutMs } = options;
  const { pollFloorMs, listen, maxAnswerBytes, probeTimeoutMs } = settingsOf<
    Pick<ConnectOptions, "pollFloorMs" | "listen" | "maxAnswerBytes" | "probeTimeoutMs">
  >(connectOptions, options);
  signal?.throwIfAborted();
  const clientInfo = options.clientInfo ?? { name: "holdfast", version: packageVersion };
  const capabilities = options.capabilities ?? defaultCapabilities(onInput !== undefined);
  const { receiveTasks } = options;
  const receives = receiveTasks !== undefined && onInput !== undefined;
  const events = new ClientEvents(options.onEvent, clock);
  const tracing = options.telemetry?.client;
  const declares = declaredBy(capabilities);
  const callbacks = { onInput, onInputError, declares, events, inOwnContext, tracing };
  const generationOf = (version: unknown): WireGenerationName =>
    generationAt(typeof version === "string" ? version : undefined, options.generation);
  const receivedTasks = (version: unknown, own: JsonObject): object | undefined =>
    clientGenerations[generationOf(version)].receiving?.capability(own);
  const generations = new PreparedGenerations({ capabilities, clientInfo });
  const lists = new ReadableLists();
  const store = typeof handles === "string" ? fileHandles(handles) : handles;
  // Before connecting: the first question may come with the handshake.
  const shared = receives ? await loadReceiver(receiveTasks) : undefined;
  const connection = await openConnection(
    server,
    {
      ...options,
      maxAnswerBytes,
      probeTimeoutMs,
      handles: store,
      clientInfo,
      capabilities: declaredCapabilities(capabilities, listen),
      rewriteOutgoing: (message) =>
        lists.rewriteOutgoing(
          generations.rewriteOutgoing(rewriteInitialize(message, receives ? receivedTasks : undefined)),
        ),
      rewriteIncoming: (message) => lists.rewriteIncoming(generations.rewriteIncoming(message)),
      prepare: (client) => {
        if (onInput !== undefined)
          setSdkQuestionHandlers(client, capabilities, onInput, inOwnContext, tracing);
      },
    },
    clock,
  ).catch(async (error: unknown) => {
    await shared?.runtime.release();
    throw error;
  });
  const { sdk, requester, name, transport } = connection;
  const onError = errorReporter((error) => requester.onerror?.(toError(error)));
  const protocolVersion = sdk.getNegotiatedProtocolVersion();
  const generation = generationOf(protocolVersion);
  const storedCall = async (taskId: string): Promise<StoredCall | undefined> => {
    try {
      return await store?.find({ server: name, generation, taskId });
    } catch (cause) {
      onError(new TaskClientError("handles", "The handle store could not read a call", { cause }));
      return undefined;
    }
  };
  const capabilitiesOfServer = { ...sdk.getServerCapabilities() };
  const sessions = new TaskSessions({ requester, storedCall });
  const version = protocolVersion;
  const parts = { requester, clock, callbacks, server: capabilitiesOfServer, version, sessions };
  const protocol = generations.protocol(generation, parts);
  events.emit({ type: "connected", protocolVersion, generation, ...(transport && { transport }) });
  const makeTasks = shared?.receiving[generation];
  const receiver =
    shared === undefined || receiveTasks === undefined || makeTasks === undefined
      ? undefined
      : new shared.Receiver(
          { requester, server: name, callbacks, options: receiveTasks },
          shared.runtime,
          makeTasks,
        );
  if (receiver === undefined) await shared?.runtime.release();
  return new ConnectedClient({
    connection,
    protocol,
    clock,
    callbacks,
    pollFloorMs,
    listen,
    limits: { timeoutMs, unreachableTimeoutMs },
    handles: store,
    onError,
    wrongCall: transport === "stdio" ? undefined : clientGenerations[generation].wrongCall,
    reconnect:
      renegotiates && isNegotiable(server, options)
        ? async (until) =>
            connectWith(server, { ...options, signal: until, ...(store && { handles: store }) }, clock, false)
        : undefined,
    closeReceiver: receiver && (async () => receiver.close()),
  });
}

/** Whether the server at this address may speak another revision later. */
function isNegotiable(server: ServerTarget, { protocolVersion, generation }: ConnectOptions): boolean {
  const isUrl = typeof server === "string" || server instanceof URL;
  return isUrl && protocolVersion === undefined && generation === undefined;
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

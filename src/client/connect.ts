import type {
  ReadResourceResult,
  CallToolResult,
  Client,
  GetPromptResult,
  RequestOptions,
} from "@modelcontextprotocol/client";
import { generationAt, type WireGenerationName } from "../generation/generations.ts";
import type { JsonObject } from "../generation/message.ts";
import { plainReply, readInTask, toPrompt, toResource, type ReadServices } from "./call/read.ts";
import { ProgressTokens } from "./call/progress-tokens.ts";
import { systemClock, type ClientClock } from "./clock.ts";
import { fileHandles } from "./handles/file-handles.ts";
import type { StoredCall, HandleStore } from "./handles/handle-store.ts";
import {
  assertConnectOptions,
  connectOptions,
  type ConnectOptions,
  type ReceiveTasksOptions,
} from "./connect-options.ts";
import { ClientEvents, failureOf } from "./client-events.ts";
import {
  clientGenerations,
  declaredCapabilities,
  loadReceiving,
  PreparedGenerations,
  type LoadedReceiving,
} from "./generations.ts";
import { assertNodeVersion, packageVersion } from "../task/package.ts";
import { settingsOf } from "../options/options.ts";
import { inThisContext, ownContext } from "../runtime/own-context.ts";
import { errorReporter } from "../runtime/error-reporter.ts";
import type { ServerTarget } from "./transport/server-connection.ts";
import { openConnection } from "./transport/open-connection.ts";
import { declaredBy, defaultCapabilities, type UserCallbacks } from "./question/ask-user.ts";
import { rewriteInitialize } from "./session/initialize.ts";
import { TaskSessions } from "./session/task-sessions.ts";
import type { Receiver } from "./session/receiver/receiver.ts";
import type { SharedRuntime } from "./session/receiver/shared-runtime.ts";
import { setSdkQuestionHandlers } from "./question/sdk-question-handlers.ts";
import type { TaskClient, CallAndWaitOptions, CallOptions, ListOptions, ReadOptions } from "./task-client.ts";
import { readReply, type Reply } from "./reply/reply.ts";
import { TaskClientError } from "./task-client-error.ts";
import { BackgroundWork } from "./background-work.ts";
import { ListenStreams } from "./task/listen-streams.ts";
import { ClientPollLimit } from "./task/poll-limits.ts";
import { CallJournal } from "./handles/call-journal.ts";
import type { PendingCall } from "./call/pending-call.ts";
import { ToolCalls } from "./call/tool-calls.ts";
import type { TaskHandle, WaitOptions } from "./task/task-handle.ts";
import type { TaskProtocol } from "./task-protocol.ts";
import { listTasks } from "./task/list-tasks.ts";
import type { ListedTask, TaskPage } from "./task/listed-task.ts";
import { checkReference } from "./task/check-reference.ts";
import type { TaskReference } from "./task/task-reference.ts";
import type { KnownTask, TaskOrigin } from "./task/task-watch.ts";
import { TaskRequests } from "./task/task-requests.ts";
import { TaskWatches } from "./task/task-watches.ts";
import { assertWait } from "./task/wait-limit.ts";
import type { RawRequester } from "./transport/raw-requester.ts";
import { WatchedHandle, type HandleOptions, type HandleServices } from "./task/watched-handle.ts";

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

/** `connect` with a given clock. */
export async function connectWith(
  server: ServerTarget,
  options: ConnectOptions,
  clock: ClientClock,
): Promise<TaskClient> {
  assertNodeVersion(process.versions.node);
  assertConnectOptions(options);
  const { onInput, signal, handles } = options;
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
  const store = typeof handles === "string" ? fileHandles(handles) : handles;
  // Before connecting: the first question may come with the handshake.
  const shared = receives ? await loadReceiver(receiveTasks) : undefined;
  const { sdk, requester, name, transport } = await openConnection(
    server,
    {
      ...options,
      maxAnswerBytes,
      probeTimeoutMs,
      handles: store,
      clientInfo,
      capabilities: declaredCapabilities(capabilities, listen),
      rewriteOutgoing: (message) =>
        generations.rewriteOutgoing(rewriteInitialize(message, receives ? receivedTasks : undefined)),
      rewriteIncoming: (message) => generations.rewriteIncoming(message),
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
  const onError = errorReporter((error) => requester.listener?.onError(toError(error)));
  const progress = new ProgressTokens(onError);
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
  requester.handlers.onNotification((notification) => progress.handle(notification));
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
    sdk,
    server: name,
    protocol,
    clock,
    callbacks,
    pollFloorMs,
    listen,
    limits: { timeoutMs, unreachableTimeoutMs },
    progress,
    handles: store,
    onError,
    readText: async (uri, until) =>
      readReply(await plainReply((how) => sdk.readResource({ uri }, how), until), textOf),
    requester,
    closeReceiver: receiver && (async () => receiver.close()),
  });
}

/** Loaded on demand, since it imports the server's runtime. */
async function loadReceiver(options: ReceiveTasksOptions): Promise<LoadedReceiver> {
  const [{ Receiver: Loaded }, { shareRuntime }, receiving] = await Promise.all([
    import("./session/receiver/receiver.ts"),
    import("./session/receiver/shared-runtime.ts"),
    loadReceiving(),
  ]);
  return { Receiver: Loaded, receiving, runtime: await shareRuntime(options) };
}

interface LoadedReceiver {
  readonly Receiver: typeof Receiver;
  readonly receiving: LoadedReceiving;
  readonly runtime: SharedRuntime;
}

function textOf({ contents }: ReadResourceResult): string {
  return contents.map((content) => ("text" in content ? content.text : "")).join("\n");
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

interface ConnectedClientOptions {
  readonly sdk: Client;
  /** The server's name in task references. */
  readonly server: string;
  readonly protocol: TaskProtocol;
  readonly clock: ClientClock;
  readonly callbacks: UserCallbacks;
  readonly pollFloorMs: number;
  /** Of calls and reads whose own options name none. */
  readonly limits: Pick<WaitOptions, "timeoutMs" | "unreachableTimeoutMs">;
  /** Whether to listen if the server supports it. */
  readonly listen: boolean;
  readonly progress: ProgressTokens;
  readonly handles: HandleStore | undefined;
  /** Called with errors that fail no call or wait. */
  readonly onError: (error: unknown) => void;
  /** Reads the text of a resource. */
  readonly readText: (uri: string, signal: AbortSignal) => Promise<Reply<string>>;
  /** When it ends, all waits end. */
  readonly requester: RawRequester;
  /** Stops answering the server's questions that run as tasks; they stay in their store. */
  readonly closeReceiver: (() => Promise<void>) | undefined;
}

/** The client of an open connection: creates its parts and ends them. */
export class ConnectedClient implements TaskClient {
  readonly sdk: Client;
  readonly #options: ConnectedClientOptions;
  readonly #background: BackgroundWork;
  readonly #journal: CallJournal;
  readonly #watches: TaskWatches;
  readonly #handleServices: HandleServices;
  readonly #calls: ToolCalls;

  constructor(options: ConnectedClientOptions) {
    const { sdk, server, protocol, clock, callbacks, pollFloorMs, requester, readText, progress } = options;
    this.sdk = sdk;
    this.#options = options;
    const background = new BackgroundWork(options.onError);
    const journal = new CallJournal({
      store: options.handles,
      server,
      generation: protocol.generation,
      now: () => clock.now(),
      session: () => sessionOf(requester),
      background,
    });
    const { events, tracing } = callbacks;
    const listen = options.listen ? protocol.listen : undefined;
    const polling = {
      protocol,
      clock,
      events,
      limit: new ClientPollLimit(pollFloorMs),
      listenStreams: new ListenStreams({ listen, clock, events, background, tracing }),
    };
    this.#background = background;
    this.#journal = journal;
    this.#watches = new TaskWatches({ polling, callbacks, journal, background }, (taskId) =>
      progress.taskEnded(taskId),
    );
    const requests = new TaskRequests({ protocol, clock, events, background, readText });
    const { unreachableTimeoutMs } = options.limits;
    this.#handleServices = { clock, journal, background, requests, limits: { unreachableTimeoutMs } };
    this.#calls = new ToolCalls({
      protocol,
      clock,
      callbacks,
      pauseMs: pollFloorMs,
      journal,
      background,
      progress,
      handle: (...task) => this.#handle(...task),
    });
    requester.keepSession = async (session) => journal.keepSession(session);
    this.#endWith(requester.closed);
  }

  async callTool(
    name: string,
    args: Readonly<Record<string, unknown>> = {},
    options: CallAndWaitOptions = {},
  ): Promise<CallToolResult> {
    return this.#calls.call(name, args, this.#limited(options));
  }

  async startTool(
    name: string,
    args: Readonly<Record<string, unknown>> = {},
    options: CallOptions = {},
  ): Promise<TaskHandle> {
    return this.#calls.start(name, args, this.#limited(options));
  }

  async readResource(uri: string, options: ReadOptions = {}): Promise<ReadResourceResult> {
    const plain = async (requestOptions: RequestOptions): Promise<ReadResourceResult> =>
      this.sdk.readResource({ uri }, requestOptions);
    const read = { method: "resources/read", params: { uri }, plain, toResult: toResource } as const;
    return readInTask(read, this.#reads, this.#limited(options));
  }

  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>> = {},
    options: ReadOptions = {},
  ): Promise<GetPromptResult> {
    const params = { name, arguments: { ...args } };
    const plain = async (requestOptions: RequestOptions): Promise<GetPromptResult> =>
      this.sdk.getPrompt(params, requestOptions);
    return readInTask(
      { method: "prompts/get", params, plain, toResult: toPrompt },
      this.#reads,
      this.#limited(options),
    );
  }

  #limited<Options extends WaitOptions>(options: Options): Options {
    return { ...this.#options.limits, ...options };
  }

  get #reads(): ReadServices {
    const { protocol, clock } = this.#options;
    return {
      protocol,
      clock,
      background: this.#background,
      handle: (taskId, options) => this.#handle(taskId, "created", {}, options),
      cancel: async (handle) => void (await this.#calls.cancel(handle)),
    };
  }

  async resume(reference: TaskReference | null, options: WaitOptions = {}): Promise<TaskHandle> {
    assertWait(options);
    this.#background.closing.throwIfAborted();
    options.signal?.throwIfAborted();
    const { server, protocol } = this.#options;
    const { taskId } = checkReference(reference, server, protocol.generation);
    return this.#handle(taskId, "named", {});
  }

  async pending(): Promise<readonly PendingCall[]> {
    return this.#calls.pending();
  }

  async listTasks(options: ListOptions = {}): Promise<TaskPage<ListedTask>> {
    const { protocol, clock } = this.#options;
    const services = { protocol, clock, background: this.#background, journal: this.#journal };
    return listTasks(services, options);
  }

  async close(): Promise<void> {
    this.#end(new TaskClientError("closed", "The client was closed"));
    await this.#background.end();
    await this.#options.requester.abandonedEnd();
    await this.#options.closeReceiver?.();
    await this.sdk.close();
  }

  #handle(taskId: string, origin: TaskOrigin, known: KnownTask, options: HandleOptions = {}): TaskHandle {
    const watch = this.#watches.watch(taskId, origin, known);
    return new WatchedHandle(watch, this.#handleServices, options);
  }

  /** Ends the client with its connection. */
  #endWith(closed: AbortSignal): void {
    if (closed.aborted) this.#end(closed.reason);
    const onClosed = (): void => {
      this.#end(closed.reason);
      // Closes the receiver's store with its last connection, however that ends.
      void this.#options.closeReceiver?.().catch(() => undefined);
    };
    closed.addEventListener("abort", onClosed, { once: true });
  }

  #end(reason: unknown): void {
    const { events } = this.#options.callbacks;
    if (!this.#background.closing.aborted)
      events.emit({ type: "disconnected", code: failureOf(reason).code });
    this.#background.close(reason);
    this.#watches.close(reason);
  }
}

/** The session in which tasks are created. */
function sessionOf({ sessionId, origin }: RawRequester): Pick<StoredCall, "sessionId" | "sessionOrigin"> {
  return sessionId === undefined || origin === undefined ? {} : { sessionId, sessionOrigin: origin };
}

import { assertCallOptions } from "./connect-options.ts";
import type {
  ReadResourceResult,
  CallToolResult,
  Client,
  GetPromptResult,
  RequestOptions,
} from "@modelcontextprotocol/client";
import type { SavedArtifact } from "./artifact/save-artifact.ts";
import { plainRead, plainReply, readInTask, toPrompt, toResource, type ReadServices } from "./call/read.ts";
import { ProgressTokens } from "./call/start-call.ts";
import type { ClientClock } from "./clock.ts";
import type { StoredCall, HandleStore } from "./handles/handle-store.ts";
import { failureOf } from "./client-events.ts";
import type { UserCallbacks } from "./question/ask-user.ts";
import type {
  TaskClient,
  CallAndWaitOptions,
  CallOptions,
  ListOptions,
  ReadOptions,
  SaveOptions,
} from "./task-client.ts";
import type { Reply } from "./reply/reply.ts";
import { asDefined, problemsOf, withParts } from "./reply/readable-lists.ts";
import { Renegotiation, type Reconnect } from "./renegotiation.ts";
import { TaskClientError } from "./task-client-error.ts";
import { BackgroundWork } from "./background-work.ts";
import { ListenStreams } from "./task/listen-streams.ts";
import { ClientPollLimit } from "./task/poll-limits.ts";
import { CallJournal } from "./handles/call-journal.ts";
import type { PendingCall } from "./call/pending-call.ts";
import { ToolCalls } from "./call/tool-calls.ts";
import {
  type TaskHandle,
  type WaitOptions,
  assertWait,
  WaitLimit,
  withWaitLimit,
} from "./task/task-handle.ts";
import type { TaskProtocol } from "./task-protocol.ts";
import { listTasks, checkReference } from "./task/list-tasks.ts";
import type { ListedTask, TaskPage, TaskReference } from "./task/remote-task.ts";
import { type KnownTask, type TaskOrigin, TaskWatches } from "./task/task-watch.ts";
import type { OpenConnection } from "./transport/open-connection.ts";
import type { RawRequester } from "./transport/raw-requester.ts";
import { WatchedHandle, type HandleOptions, type HandleServices } from "./task/watched-handle.ts";

interface ConnectedClientOptions {
  /** When it ends, all waits end. */
  readonly connection: OpenConnection;
  readonly protocol: TaskProtocol;
  readonly clock: ClientClock;
  readonly callbacks: UserCallbacks;
  readonly pollFloorMs: number;
  /** Of calls and reads whose own options name none. */
  readonly limits: Pick<WaitOptions, "timeoutMs" | "unreachableTimeoutMs">;
  /** Whether to listen if the server supports it. */
  readonly listen: boolean;
  readonly handles: HandleStore | undefined;
  /** Called with errors that fail no call or wait. */
  readonly onError: (error: unknown) => void;
  /** Why calls of a tool with this input schema cannot be sent on this connection; undefined if they can. */
  readonly wrongCall: ((inputSchema: unknown) => string | undefined) | undefined;
  /** Connects again, by a client that does not do so itself. Left out if the caller or the transport allows one revision only. */
  readonly reconnect: Reconnect | undefined;
  /** Stops answering the server's questions that run as tasks; they stay in their store. */
  readonly closeReceiver: (() => Promise<void>) | undefined;
}

interface Listed<Item> {
  readonly items: readonly Item[];
  readonly problems: readonly string[];
}

type ListingOptions = Pick<WaitOptions, "signal" | "timeoutMs">;

/** Of a list: what no server has. One that names another page each time would be asked for ever. */
const mostPages = 5_000;
const mostItems = 100_000;

/** The client of an open connection: creates its parts and ends them. */
export class ConnectedClient implements TaskClient {
  readonly sdk: Client;
  readonly #options: ConnectedClientOptions;
  readonly #background: BackgroundWork;
  readonly #journal: CallJournal;
  readonly #watches: TaskWatches;
  readonly #handleServices: HandleServices;
  readonly #calls: ToolCalls;
  readonly #era: Renegotiation;

  constructor(options: ConnectedClientOptions) {
    const { connection, protocol, clock, callbacks, pollFloorMs } = options;
    const { sdk, requester, name: server } = connection;
    this.sdk = sdk;
    this.#options = options;
    const background = new BackgroundWork(options.onError);
    const progress = new ProgressTokens(options.onError);
    requester.handlers.onNotification((notification) => progress.handle(notification));
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
    const { unreachableTimeoutMs } = options.limits;
    const limits = { unreachableTimeoutMs };
    const readPlainly = this.#readPlainly.bind(this);
    this.#handleServices = { protocol, clock, events, journal, background, readPlainly, limits };
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
    this.#era = new Renegotiation(this, options.reconnect);
    requester.keepSession = async (session) => journal.keepSession(session);
    this.#endWith(requester.closed);
  }

  async callTool(
    name: string,
    args: Readonly<Record<string, unknown>> = {},
    options: CallAndWaitOptions = {},
  ): Promise<CallToolResult> {
    assertCallOptions("callTool", options);
    const limited = this.#limited(options);
    return this.#era.with(
      async (client) =>
        client === this ? this.#calls.call(name, args, limited) : client.callTool(name, args, limited),
      limited.signal,
    );
  }

  async startTool(
    name: string,
    args: Readonly<Record<string, unknown>> = {},
    options: CallOptions = {},
  ): Promise<TaskHandle> {
    assertCallOptions("startTool", options);
    const limited = this.#limited(options);
    return this.#era.with(
      async (client) =>
        client === this ? this.#calls.start(name, args, limited) : client.startTool(name, args, limited),
      limited.signal,
    );
  }

  async listTools(options: ListingOptions = {}) {
    const { items: tools, problems } = await this.#list("tools", options, async (sdk, params, how) => {
      const page = await sdk.request({ method: "tools/list", params }, how); // sdk.listTools() fails behind 64 pages
      return { ...page, ...this.#callable(page.tools) };
    });
    return { tools, problems };
  }

  /** Tools are left out whose calls cannot be sent. */
  #callable<Tool extends { readonly name: string; readonly inputSchema: unknown }>(tools: readonly Tool[]) {
    const { wrongCall = () => undefined } = this.#options;
    const problems = tools.map(({ inputSchema }) => wrongCall(inputSchema));
    return {
      items: tools.filter((_, place) => problems[place] === undefined),
      problems: problems.flatMap((problem, place) =>
        problem === undefined ? [] : [`tool ${JSON.stringify(tools[place]?.name)}: ${problem}`],
      ),
    };
  }

  async listResources(options: ListingOptions = {}) {
    const { items: resources, problems } = await this.#list(
      "resources",
      options,
      async (sdk, params, how) => {
        const page = await sdk.request({ method: "resources/list", params }, how);
        return { ...page, items: page.resources };
      },
    );
    return { resources, problems };
  }

  /** Empty if the server does not know the request: many have only resources. */
  async listResourceTemplates(options: ListingOptions = {}) {
    const listing = this.#list("resources", options, async (sdk, params, how) => {
      const page = await sdk.request({ method: "resources/templates/list", params }, how);
      return { ...page, items: page.resourceTemplates };
    });
    const { items: resourceTemplates, problems } = await listing.catch((error: unknown) => {
      if (error instanceof TaskClientError && error.error?.code === -32601)
        return { items: [], problems: [] };
      throw error;
    });
    return { resourceTemplates, problems };
  }

  async listPrompts(options: ListingOptions = {}) {
    const { items: prompts, problems } = await this.#list("prompts", options, async (sdk, params, how) => {
      const page = await sdk.request({ method: "prompts/list", params }, how);
      return { ...page, items: page.prompts };
    });
    return { prompts, problems };
  }

  /** All pages, which are more than the SDK's client reads by itself. Stops also if a server repeats a cursor, or has no end. Empty if the server has no such list. */
  async #list<Item>(
    capability: "tools" | "resources" | "prompts",
    options: ListingOptions,
    readPage: (
      sdk: Client,
      params: { readonly cursor?: string },
      how: RequestOptions,
    ) => Promise<{
      readonly items: readonly Item[];
      readonly nextCursor?: string | undefined;
      readonly problems?: readonly string[];
    }>,
  ): Promise<Listed<Item>> {
    const services = { clock: this.#options.clock, background: this.#background };
    const read = async ({ sdk }: TaskClient, signal: AbortSignal): Promise<Listed<Item>> => {
      const items: Item[] = [];
      const problems: string[] = [];
      this.#background.closing.throwIfAborted(); // a closed connection knows of no lists, and would have none
      // Otherwise the SDK would print a warning to the console.
      if (sdk.getServerCapabilities()?.[capability] === undefined) return { items, problems };
      const seen = new Set<string>();
      for (let cursor: string | undefined; ;) {
        const params = cursor === undefined ? {} : { cursor };
        const page = await plainRead((how) => readPage(sdk, params, how), signal);
        for (const item of page.items) items.push(item);
        problems.push(...problemsOf(page), ...(page.problems ?? []));
        cursor = page.nextCursor;
        if (cursor === undefined || seen.has(cursor)) return { items, problems };
        seen.add(cursor);
        if (seen.size >= mostPages || items.length >= mostItems) {
          problems.push(`the list goes on behind ${items.length} items, which were read`);
          return { items, problems };
        }
      }
    };
    const limited = this.#limited(options);
    return withWaitLimit(limited, services, (signal) =>
      this.#era.with((client) => read(client, signal), signal),
    );
  }

  async readResource(uri: string, options: ReadOptions = {}): Promise<ReadResourceResult> {
    const plain = async (requestOptions: RequestOptions): Promise<ReadResourceResult> =>
      withParts(await this.sdk.readResource({ uri }, requestOptions));
    const read = { method: "resources/read", params: { uri }, plain, toResult: toResource } as const;
    const limited = this.#limited(options);
    return this.#era.with(
      async (client) =>
        client === this ? readInTask(read, this.#reads, limited) : client.readResource(uri, limited),
      limited.signal,
    );
  }

  async saveArtifact(uri: string, path: string, options: SaveOptions = {}): Promise<SavedArtifact> {
    assertWait(options);
    const { clock } = this.#options;
    const { saveArtifact } = await import("./artifact/save-artifact.ts");
    const limited = this.#limited(options);
    const limit = new WaitLimit(limited, clock);
    const reader = {
      clock,
      readResource: this.#handleServices.readPlainly,
      onTrouble: limit.onTrouble,
      onProgress: options.onProgress,
    };
    try {
      return await this.#era.with(
        async (client) =>
          client === this
            ? saveArtifact(uri, path, reader, limit.or(this.#background.closing))
            : client.saveArtifact(uri, path, limited),
        limited.signal,
      );
    } finally {
      limit.clear();
    }
  }

  /** Reads a resource by a request, which is sent once. */
  async #readPlainly(uri: string, until: AbortSignal): Promise<Reply<ReadResourceResult>> {
    return plainReply(async (how) => asDefined(await this.sdk.readResource({ uri }, how)), until);
  }

  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>> = {},
    options: ReadOptions = {},
  ): Promise<GetPromptResult> {
    const params = { name, arguments: { ...args } };
    const plain = async (requestOptions: RequestOptions): Promise<GetPromptResult> =>
      withParts(await this.sdk.getPrompt(params, requestOptions));
    const read = { method: "prompts/get", params, plain, toResult: toPrompt } as const;
    const limited = this.#limited(options);
    return this.#era.with(
      async (client) =>
        client === this ? readInTask(read, this.#reads, limited) : client.getPrompt(name, args, limited),
      limited.signal,
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
    const { connection, protocol } = this.#options;
    const { current } = this.#era;
    if (current !== this && reference !== null && reference.generation !== protocol.generation)
      return current.resume(reference, options);
    const { taskId } = checkReference(reference, connection.name, protocol.generation);
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
    await this.#era.close();
    await this.#options.connection.requester.abandonedEnd();
    await this.#background.end();
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

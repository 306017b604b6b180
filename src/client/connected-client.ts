import type {
  CallToolResult,
  Client,
  GetPromptResult,
  ReadResourceResult,
  RequestOptions,
} from "@modelcontextprotocol/client";
import type { UserCallbacks } from "./question/ask-user.ts";
import { BackgroundWork } from "./background-work.ts";
import type { ClientClock } from "./clock.ts";
import { directHandle } from "./call/direct-handle.ts";
import { makeIdempotencyKey } from "./call/idempotency.ts";
import type { ProgressReports, ProgressTokens } from "./call/progress-tokens.ts";
import { failureOf, type ClientEvents } from "./client-events.ts";
import { ListenStreams } from "./task/listen-streams.ts";
import { ClientPollLimit } from "./task/poll-limits.ts";
import type { RemoteTask } from "./task/remote-task.ts";
import { startJournalledCall } from "./call/start-journalled-call.ts";
import { CallJournal } from "./handles/call-journal.ts";
import type { HandleStore, KeptCall } from "./handles/handle-store.ts";
import { type PendingCall, pendingCall } from "./call/pending-call.ts";
import { readInTask, toPrompt, toResource, type ReadServices } from "./call/read.ts";
import type { CallAndWaitOptions, CallOptions, ListOptions, ReadOptions, TaskClient } from "./task-client.ts";
import { TaskClientError } from "./task-client-error.ts";
import type { TaskHandle, WaitOptions } from "./task/task-handle.ts";
import type { TaskProtocol } from "./task-protocol.ts";
import { listTasks } from "./task/list-tasks.ts";
import type { ListedTask, TaskPage } from "./task/listed-task.ts";
import { checkReference } from "./task/check-reference.ts";
import type { TaskReference } from "./task/task-reference.ts";
import { TaskWatch, type TaskOrigin, type WatchServices } from "./task/task-watch.ts";
import { TaskWatches } from "./task/task-watches.ts";
import { assertMs, assertWait, WaitLimit } from "./task/wait-limit.ts";
import type { RawRequester } from "./transport/raw-requester.ts";
import { WatchedHandle, type HandleOptions } from "./task/watched-handle.ts";

interface ConnectedClientOptions {
  readonly sdk: Client;
  /** The server's name in task references. */
  readonly server: string;
  readonly protocol: TaskProtocol;
  readonly clock: ClientClock;
  readonly callbacks: UserCallbacks;
  readonly events: ClientEvents;
  readonly pollFloorMs: number;
  /** Whether to listen if the server supports it. */
  readonly listen: boolean;
  readonly progress: ProgressTokens;
  readonly handles: HandleStore | undefined;
  /** Called with errors that fail no call or wait. */
  readonly onError: (error: unknown) => void;
  readonly readText: WatchServices["readText"];
  /** Its end ends all waits. */
  readonly requester: RawRequester;
  /** Stops answering the server's questions that run as tasks; they stay in their store. */
  readonly closeReceiver: (() => Promise<void>) | undefined;
}

interface StartOptions extends WaitOptions, Pick<CallOptions, "onProgress" | "deleteAfterFetch"> {
  readonly findsAgain?: boolean;
  readonly again?: boolean;
}

const cancelOnAbortMs = 5_000;

export class ConnectedClient implements TaskClient {
  readonly sdk: Client;
  readonly #server: string;
  readonly #services: WatchServices;
  readonly #closing = new AbortController();
  readonly #watches = new TaskWatches();
  readonly #background = new BackgroundWork();
  readonly #progress: ProgressTokens;
  readonly #closeReceiver: (() => Promise<void>) | undefined;
  /** By task id, until the task is known to have ended (C-108). */
  readonly #reports = new Map<string, ProgressReports>();

  constructor(options: ConnectedClientOptions) {
    const { sdk, server, requester, listen, progress, handles, onError, closeReceiver, ...services } =
      options;
    const { closed } = requester;
    this.sdk = sdk;
    this.#server = server;
    this.#progress = progress;
    this.#closeReceiver = closeReceiver;
    const closing = this.#closing.signal;
    const { run } = this.#background;
    const { protocol, clock, events, callbacks } = services;
    const now = (): number => clock.now();
    const sessionId = (): string | undefined => requester.sessionId;
    const { generation } = protocol;
    const journal = new CallJournal({ store: handles, server, generation, now, sessionId, run, onError });
    requester.isSessionNeeded = async () => journal.needsSession();
    const pushes = listen ? protocol.listen : undefined;
    const streamOptions = { listen: pushes, clock, events, closing, run, tracing: callbacks.tracing };
    this.#services = {
      ...services,
      journal,
      onError,
      pollLimit: new ClientPollLimit(),
      listenStreams: new ListenStreams(streamOptions),
      closing,
      run,
      retainWatch: (watch) => this.#watches.retain(watch),
      forget: (taskId) => {
        this.#watches.forget(taskId);
        this.#reports.get(taskId)?.stop();
        this.#reports.delete(taskId);
      },
    };
    if (closed.aborted) this.#end(closed.reason);
    const lost = (): void => {
      this.#end(closed.reason);
      // Closes the receiver's store with its last connection, however that ends.
      void this.#closeReceiver?.().catch(() => undefined);
    };
    closed.addEventListener("abort", lost, { once: true });
  }

  async callTool(
    name: string,
    args: Readonly<Record<string, unknown>> = {},
    { onUpdate, onTask, cancelOnAbort = false, ...options }: CallAndWaitOptions = {},
  ): Promise<CallToolResult> {
    assertWait(options);
    const limit = new WaitLimit(options, this.#services.clock);
    const limited = { ...options, signal: limit.signal, timeoutMs: undefined };
    let handle: TaskHandle | undefined;
    try {
      handle = await this.#begin(name, args, { ...limited, cancelOnAbort });
      limit.reference = handle.reference ?? undefined;
      if (handle.reference !== null) await onTask?.(handle.reference);
      if (handle.reference !== null && onUpdate !== undefined) {
        for await (const task of handle.updates(limited)) await onUpdate(task);
        // The task has ended, so return its result even if the time limit has passed meanwhile.
        return await handle.result();
      }
      return await handle.result(limited);
    } catch (error) {
      if (cancelOnAbort && options.signal?.aborted === true && handle !== undefined)
        await this.#cancel(handle);
      throw error;
    } finally {
      limit.clear();
    }
  }

  async startTool(
    name: string,
    args: Readonly<Record<string, unknown>> = {},
    options: CallOptions = {},
  ): Promise<TaskHandle> {
    return this.#begin(name, args, options);
  }

  async #begin(
    name: string,
    args: Readonly<Record<string, unknown>>,
    { idempotencyKey, ttlMs, cancelOnAbort = false, ...options }: CallAndWaitOptions,
  ): Promise<TaskHandle> {
    assertMs("ttlMs", ttlMs);
    assertWait(options);
    const { clock, journal } = this.#services;
    const key = idempotencyKey ?? makeIdempotencyKey();
    const call = journal.entryFor({ key, tool: name, args, ttlMs, startedAt: clock.now() });
    const findsAgain = idempotencyKey !== undefined || (journal.isPersistent && !cancelOnAbort);
    return this.#start(call, { ...options, findsAgain });
  }

  async #start(
    call: KeptCall,
    { onProgress, deleteAfterFetch, findsAgain = true, again = false, ...waiting }: StartOptions,
  ): Promise<TaskHandle> {
    const { closing, clock } = this.#services;
    const limit = new WaitLimit(waiting, clock);
    const either = limit.signal === undefined ? closing : AbortSignal.any([limit.signal, closing]);
    const reports = onProgress && this.#progress.open(onProgress);
    const options = { signal: either, progressToken: reports?.token, findsAgain, again };
    let live = false;
    try {
      const starting = startJournalledCall(
        call,
        { ...this.#services, firstSentAt: again ? call.startedAt : undefined },
        options,
      );
      this.#background.run(starting);
      const started = await starting;
      if (started.kind === "result") return directHandle(started.result, clock.now());
      const { taskId, task, immediateResponse } = started;
      if (reports !== undefined) this.#reports.set(taskId, reports);
      live = true;
      return this.#handle(taskId, "created", task, { immediateResponse, deleteAfterFetch, tool: call.tool });
    } finally {
      limit.clear();
      if (!live) reports?.stop();
    }
  }

  async readResource(uri: string, options: ReadOptions = {}): Promise<ReadResourceResult> {
    const plain = async (requestOptions: RequestOptions): Promise<ReadResourceResult> =>
      this.sdk.readResource({ uri }, requestOptions);
    const read = { method: "resources/read", params: { uri }, plain, toResult: toResource } as const;
    return readInTask(read, this.#reads, options);
  }

  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>> = {},
    options: ReadOptions = {},
  ): Promise<GetPromptResult> {
    const params = { name, arguments: { ...args } };
    const plain = async (requestOptions: RequestOptions): Promise<GetPromptResult> =>
      this.sdk.getPrompt(params, requestOptions);
    return readInTask({ method: "prompts/get", params, plain, toResult: toPrompt }, this.#reads, options);
  }

  get #reads(): ReadServices {
    return {
      ...this.#services,
      handle: (taskId, options) => this.#handle(taskId, "created", undefined, options),
      cancel: async (handle) => this.#cancel(handle),
    };
  }

  async resume(reference: TaskReference | null, options: WaitOptions = {}): Promise<TaskHandle> {
    assertWait(options);
    this.#closing.signal.throwIfAborted();
    options.signal?.throwIfAborted();
    const { taskId } = checkReference(reference, this.#server, this.#services.protocol.generation);
    return this.#handle(taskId, "named");
  }

  async pending(): Promise<readonly PendingCall[]> {
    const { journal, clock, protocol, closing } = this.#services;
    closing.throwIfAborted();
    const services = {
      journal,
      now: () => clock.now(),
      protocol,
      resume: (taskId: string, tool: string) => {
        closing.throwIfAborted();
        return this.#handle(taskId, "kept", undefined, { tool });
      },
      sendAgain: async (call: KeptCall, options: WaitOptions) =>
        this.#start(call, { ...options, again: true }),
    };
    return (await journal.list()).map((call) => pendingCall(call, services));
  }

  async listTasks(options: ListOptions = {}): Promise<TaskPage<ListedTask>> {
    return listTasks(this.#services, options);
  }

  async close(): Promise<void> {
    this.#end(new TaskClientError("closed", "The client was closed"));
    await this.#background.end();
    await this.#closeReceiver?.();
    await this.sdk.close();
  }

  /** Tries to cancel within five seconds. */
  async #cancel(handle: TaskHandle): Promise<void> {
    const { clock, journal } = this.#services;
    const deadline = clock.deadline(cancelOnAbortMs);
    try {
      await handle.cancel({ signal: deadline.signal });
      // The caller has given up the task, so its outcome will not be delivered.
      if (handle.taskId !== null) journal.removeTask(handle.taskId);
    } catch {
      // The call rejects with the abort's reason instead.
    } finally {
      deadline.clear();
    }
  }

  #end(reason: unknown): void {
    const { events } = this.#services;
    if (!this.#closing.signal.aborted) events.emit({ type: "disconnected", code: failureOf(reason).code });
    this.#closing.abort(reason);
    this.#watches.close(reason);
  }

  #handle(
    taskId: string,
    origin: TaskOrigin,
    task?: RemoteTask,
    options: HandleOptions & { readonly tool?: string } = {},
  ): TaskHandle {
    const known = this.#watches.get(taskId);
    const watch = known ?? new TaskWatch(taskId, origin, task, this.#services, options.tool);
    if (known === undefined) this.#watches.add(watch);
    const reference = this.#services.journal.referenceTo(taskId);
    return new WatchedHandle(reference, watch, this.#services, options);
  }
}

import type {
  CallToolResult,
  Client,
  GetPromptResult,
  ReadResourceResult,
  RequestOptions,
} from "@modelcontextprotocol/client";
import type { UserCallbacks } from "./question/ask-user.ts";
import type { ClientClock } from "./clock.ts";
import { directHandle } from "./call/direct-handle.ts";
import { makeIdempotencyKey } from "./call/idempotency-key.ts";
import type { ProgressReports, ProgressTokens } from "./call/progress-tokens.ts";
import { failureOf, type ClientEvents } from "./events/client-events.ts";
import { Listening } from "./task/listening.ts";
import { PollTraffic } from "./task/poll-traffic.ts";
import type { RemoteTask } from "./task/remote-task.ts";
import { startKeptCall } from "./call/start-kept-call.ts";
import { CallKeeper } from "./handles/call-keeper.ts";
import type { HandleStore, KeptCall } from "./handles/handle-store.ts";
import type { PendingCall } from "./handles/pending-call.ts";
import { readInTask, toPrompt, toResource, type ReadServices } from "./call/read.ts";
import { pendingCall } from "./call/take-call.ts";
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
import { WatchedHandle } from "./task/watched-handle.ts";

interface ConnectedClientOptions {
  readonly sdk: Client;
  /** The URL, as references name it. */
  readonly server: string;
  readonly protocol: TaskProtocol;
  readonly clock: ClientClock;
  readonly callbacks: UserCallbacks;
  readonly events: ClientEvents;
  readonly pollFloorMs: number;
  /** Whether to listen where the server offers it. */
  readonly listen: boolean;
  readonly progress: ProgressTokens;
  readonly handles: HandleStore | undefined;
  /** Hears of faults that stop nobody. */
  readonly onError: (error: unknown) => void;
  /** Its end ends all that waits. */
  readonly requester: RawRequester;
  /** Leaves the server's own questions, where they are taken as tasks, in their store. */
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
  readonly #running = new Set<Promise<unknown>>();
  readonly #progress: ProgressTokens;
  readonly #closeReceiver: (() => Promise<void>) | undefined;
  /** By task id, until the task is known to have ended (C-108). */
  readonly #reports = new Map<string, ProgressReports>();

  constructor(options: ConnectedClientOptions) {
    const { sdk, server, requester, listen, progress, handles, onError, closeReceiver, ...services } =
      options;
    const { over } = requester;
    this.sdk = sdk;
    this.#server = server;
    this.#progress = progress;
    this.#closeReceiver = closeReceiver;
    const closing = this.#closing.signal;
    const run = (work: Promise<unknown>): void => this.#keep(work);
    const { protocol, clock, events } = services;
    const now = (): number => clock.now();
    const sessionId = (): string | undefined => requester.sessionId;
    const { generation } = protocol;
    const keeper = new CallKeeper({ store: handles, server, generation, now, sessionId, run, onError });
    requester.isSessionNeeded = async () => keeper.needsSession();
    const hears = { listen: listen ? protocol.listen : undefined, clock, events, closing, run };
    this.#services = {
      ...services,
      keeper,
      onError,
      traffic: new PollTraffic(),
      listening: new Listening(hears),
      closing,
      run,
      keepWatch: (watch) => this.#watches.keep(watch),
      forget: (taskId) => {
        this.#watches.forget(taskId);
        this.#reports.get(taskId)?.stop();
        this.#reports.delete(taskId);
      },
    };
    if (over.aborted) this.#end(over.reason);
    const lost = (): void => {
      this.#end(over.reason);
      // A store is free again once its connections are over, however they ended.
      void this.#closeReceiver?.().catch(() => undefined);
    };
    over.addEventListener("abort", lost, { once: true });
  }

  async callTool(
    name: string,
    args: Readonly<Record<string, unknown>> = {},
    { onUpdate, onTask, cancelOnAbort = false, ...options }: CallAndWaitOptions = {},
  ): Promise<CallToolResult> {
    assertWait(options);
    const limit = new WaitLimit(options, this.#services.clock);
    const within = { ...options, signal: limit.signal, timeoutMs: undefined };
    let handle: TaskHandle | undefined;
    try {
      handle = await this.#begin(name, args, { ...within, cancelOnAbort });
      limit.reference = handle.reference ?? undefined;
      if (handle.reference !== null) await onTask?.(handle.reference);
      if (handle.reference !== null && onUpdate !== undefined) {
        for await (const task of handle.updates(within)) await onUpdate(task);
        // The end is known: no limit that was passed meanwhile takes it away.
        return await handle.result();
      }
      return await handle.result(within);
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
    const { clock, keeper } = this.#services;
    const key = idempotencyKey ?? makeIdempotencyKey();
    const call = keeper.name({ key, tool: name, args, ttlMs, startedAt: clock.now() });
    const findsAgain = idempotencyKey !== undefined || (keeper.keeps && !cancelOnAbort);
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
      const starting = startKeptCall(
        call,
        { ...this.#services, firstSentAt: again ? call.startedAt : undefined },
        options,
      );
      this.#keep(starting);
      const started = await starting;
      if (started.kind === "result") return directHandle(started.result, clock.now());
      const { taskId, task, immediateResponse } = started;
      if (reports !== undefined) this.#reports.set(taskId, reports);
      live = true;
      return this.#handle(taskId, "created", task, { immediateResponse, deleteAfterFetch });
    } finally {
      limit.clear();
      if (!live) reports?.stop();
    }
  }

  async readResource(uri: string, options: ReadOptions = {}): Promise<ReadResourceResult> {
    const plain = async (within: RequestOptions): Promise<ReadResourceResult> =>
      this.sdk.readResource({ uri }, within);
    const read = { method: "resources/read", params: { uri }, plain, toResult: toResource } as const;
    return readInTask(read, this.#reads, options);
  }

  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>> = {},
    options: ReadOptions = {},
  ): Promise<GetPromptResult> {
    const params = { name, arguments: { ...args } };
    const plain = async (within: RequestOptions): Promise<GetPromptResult> =>
      this.sdk.getPrompt(params, within);
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
    const { keeper, clock, protocol, closing } = this.#services;
    closing.throwIfAborted();
    const services = {
      keeper,
      now: () => clock.now(),
      protocol,
      resume: (taskId: string) => {
        closing.throwIfAborted();
        return this.#handle(taskId, "kept");
      },
      sendAgain: async (call: KeptCall, options: WaitOptions) =>
        this.#start(call, { ...options, again: true }),
    };
    return (await keeper.list()).map((call) => pendingCall(call, services));
  }

  async listTasks(options: ListOptions = {}): Promise<TaskPage<ListedTask>> {
    return listTasks(this.#services, options);
  }

  async close(): Promise<void> {
    this.#end(new TaskClientError("closed", "The client was closed"));
    // What ends may have something to write down.
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
    await this.#closeReceiver?.();
    await this.sdk.close();
  }

  /** As far as that can be had in time: whoever aborted does not want to wait. */
  async #cancel(handle: TaskHandle): Promise<void> {
    const { clock, keeper } = this.#services;
    const deadline = clock.deadline(cancelOnAbortMs);
    try {
      await handle.cancel({ signal: deadline.signal });
      // Nobody wants to hear of it any more.
      if (handle.taskId !== null) keeper.dropTask(handle.taskId);
    } catch {
      // The abort is what the caller is told.
    } finally {
      deadline.clear();
    }
  }

  #end(reason: unknown): void {
    const { events } = this.#services;
    if (!this.#closing.signal.aborted) events.tell({ type: "disconnected", code: failureOf(reason).code });
    this.#closing.abort(reason); // the first reason stays
    this.#watches.close(reason);
  }

  #handle(
    taskId: string,
    origin: TaskOrigin,
    task?: RemoteTask,
    options: Pick<CallOptions, "deleteAfterFetch"> & Pick<TaskHandle, "immediateResponse"> = {},
  ): TaskHandle {
    const known = this.#watches.get(taskId);
    const watch = known ?? new TaskWatch(taskId, origin, task, this.#services);
    if (known === undefined) this.#watches.add(watch);
    const reference = this.#services.keeper.referenceTo(taskId);
    return new WatchedHandle(reference, watch, this.#services, options);
  }

  #keep(work: Promise<unknown>): void {
    const kept = work.catch(() => undefined).finally(() => this.#running.delete(kept));
    this.#running.add(kept);
  }
}

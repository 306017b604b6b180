import type {
  CallToolResult,
  Client,
  GetPromptResult,
  Progress,
  ReadResourceResult,
} from "@modelcontextprotocol/client";
import type { PendingCall } from "./handles/pending-call.ts";
import type { ListedTask, TaskPage } from "./task/listed-task.ts";
import type { RemoteTask } from "./task/remote-task.ts";
import type { TaskHandle, WaitOptions } from "./task/task-handle.ts";
import type { TaskReference } from "./task/task-reference.ts";

/**
 * Options of one call. Aborting before the server answered withdraws the call. A task that it has made already runs
 * on: with `handles`, `pending()` finds it; without, give an `idempotencyKey` to find it again. In protocol 2025-11-25
 * and before it is cancelled, unless there is one of the two.
 */
export interface CallOptions extends WaitOptions {
  /**
   * Names the call, so that the server recognises it when it comes twice, also from another process. Without
   * authentication at least 122 random bits. Default: a fresh random one, for the repeats of this call only.
   */
  readonly idempotencyKey?: string;
  /**
   * Milliseconds, counted from its creation, that the task should be kept if the call becomes one; in SEP-1686 counted
   * from its end, however long it runs. The server may give more or less. Since protocol 2026-07-28 clients have no say,
   * and it has no effect. Default: the server's.
   */
  readonly ttlMs?: number;
  /**
   * Whether the server is to delete the task as soon as `result()`, or `callTool`, has its end: for what is not to lie
   * around. A failure is told to `sdk.onerror`. Only SEP-1686 has deletes; elsewhere it has no effect.
   */
  readonly deleteAfterFetch?: boolean | undefined;
  /**
   * Asks the server to report progress, and takes the reports while they come: up to the result of a call that is
   * answered at once. In protocol 2025-11-25 also for as long as a task runs, waited for or not, though not in a
   * session or process after this one; in later versions a task tells by its `statusMessage`.
   */
  readonly onProgress?: (progress: Progress) => unknown;
}

export interface CallAndWaitOptions extends CallOptions {
  /** Called with the task as it stands and with each change; never if the server answers at once. */
  readonly onUpdate?: (task: RemoteTask) => unknown;
  /**
   * Whether aborting the `signal` while a task runs cancels that task too. The call then rejects, with the signal's
   * reason, once the server has acknowledged, or after five seconds without that. Default false: the task runs on.
   */
  readonly cancelOnAbort?: boolean;
  /** Told of the task as soon as the call has become one; never if the server answers at once. */
  readonly onTask?: (reference: TaskReference) => unknown;
}

/**
 * Options of one read. Nobody else knows of its task: one whose `signal` aborts, or whose time is up, is cancelled, and
 * those that a client leaves behind are not in its `handles`.
 */
export interface ReadOptions extends WaitOptions, Pick<CallOptions, "ttlMs" | "deleteAfterFetch"> {}

/** Options of `listTasks`. */
export interface ListOptions extends Omit<WaitOptions, "pollIntervalMs"> {
  /** The `nextCursor` of the page before; left out for the first page. Goes back as it came. */
  readonly cursor?: string | undefined;
}

/** A connection to one server. See `connect`. */
export interface TaskClient {
  /** The SDK's client on the same connection, for everything that is no task: listing tools, resources, prompts. */
  readonly sdk: Client;
  /**
   * Calls a tool and waits for its result, whether the server answers at once or with a task, through restarts of the
   * server. Rejects with a TaskClientError.
   *
   * ```ts
   * const result = await client.callTool("publish_report", { month: "2026-10" });
   * ```
   */
  callTool(
    name: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallAndWaitOptions,
  ): Promise<CallToolResult>;
  /**
   * Calls a tool and returns as soon as the server has answered: with a task, usually at once.
   *
   * While the server cannot be reached at all, the call is sent again until it can. If the connection breaks after the
   * call may have arrived, it is sent again only to a server that says it recognises idempotency keys, as a Holdfast
   * server does; otherwise that is the error `connection`, since a second call could make a second task.
   *
   * ```ts
   * const handle = await client.startTool("publish_report", { month: "2026-11" });
   * await writeFile("task.json", JSON.stringify(handle.reference));
   * ```
   */
  startTool(
    name: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<TaskHandle>;
  /**
   * Reads a resource and waits for it, as a task where the tasks of the connection are those of SEP-1686: it survives the
   * loss of its answer and of its stream. In other generations it is the request alone, through `sdk`. Rejects with a
   * TaskClientError.
   *
   * ```ts
   * const { contents } = await client.readResource("reports://2026-10");
   * ```
   */
  readResource(uri: string, options?: ReadOptions): Promise<ReadResourceResult>;
  /**
   * Gets a prompt, in the same way.
   *
   * ```ts
   * const { messages } = await client.getPrompt("summary", { month: "2026-10" });
   * ```
   */
  getPrompt(
    name: string,
    args?: Readonly<Record<string, string>>,
    options?: ReadOptions,
  ): Promise<GetPromptResult>;
  /**
   * The handle of a task that was started earlier, perhaps by another process. Sends nothing: whether the server still
   * knows the task shows on first use. Throws `reference` for `null` and for another server's task.
   */
  resume(reference: TaskReference | null, options?: WaitOptions): Promise<TaskHandle>;
  /**
   * The calls to this server, in its generation of the protocol, whose end nobody was told yet, the oldest first: what
   * is in the handle store, see `handles`. Those that this client or another process waits for now are among them. A
   * call leaves the list once a wait was told its end, so a process that dies just then may be told twice, and never
   * not at all. Entries that cannot be read are told to `sdk.onerror` and left out. Rejects with `handles`.
   *
   * ```ts
   * for (const call of await client.pending()) {
   *   const handle = await call.take();
   *   console.log(call.tool, (await handle.result()).content);
   * }
   * ```
   */
  pending(): Promise<readonly PendingCall[]>;
  /**
   * The tasks that the server has of this caller, whoever of theirs made them: one page, asked for once, now. Servers list
   * tasks of 2025-11-25 and of SEP-1686; one that does not, and all since 2026-07-28, reject with `rpc`, code -32601. What
   * a client of yours was not told the end of is in `pending`, in every generation.
   *
   * ```ts
   * let cursor: string | undefined;
   * do {
   *   const page = await client.listTasks({ cursor });
   *   for (const task of page.tasks) console.log(task.taskId, task.status);
   *   cursor = page.nextCursor;
   * } while (cursor !== undefined);
   * ```
   */
  listTasks(options?: ListOptions): Promise<TaskPage<ListedTask>>;
  /**
   * Ends every wait (`closed`), the connection and the process that was started for it, and resolves when nothing is
   * left running. Tasks run on, or go on when their server does.
   */
  close(): Promise<void>;
}

import type {
  CallToolResult,
  Client,
  GetPromptResult,
  Progress,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
  Tool,
} from "@modelcontextprotocol/client";
import type { TimeSpan } from "../task/time.ts";
import type { SavedArtifact } from "./artifact/save-artifact.ts";
import type { PendingCall } from "./call/pending-call.ts";
import type { ListedTask, RemoteTask, TaskPage, TaskReference } from "./task/remote-task.ts";
import type { TaskHandle, WaitOptions } from "./task/task-handle.ts";

/**
 * Options of one call. If you abort it before the server answered, the call is withdrawn. A task that the server created nevertheless is
 * cancelled as soon as the client learns of it, unless it can be found again: `pending()` finds it with `handles`, a repeated call with an
 * `idempotencyKey`. A call that is aborted once it has a task rejects with `aborted`, and the task continues; see `reference`.
 */
export interface CallOptions extends WaitOptions {
  /**
   * Identifies the call, so that the server recognises repeats, also from another process. Without authentication it needs at least 122
   * random bits. Default: a new random key, for repeats of this call only.
   */
  readonly idempotencyKey?: string;
  /**
   * When the same call was first sent under this `idempotencyKey`, perhaps by another process, in epoch milliseconds. The call is then sent again
   * only to a server that recognises it, and finds the task that it made; with any other it rejects with `connection`, as it could run twice.
   * Default: it was not sent before.
   */
  readonly sentAt?: number | undefined;
  /**
   * How long the server should keep the task, from its creation, in milliseconds or such as `"3d"`; many servers also end its work then. In SEP-1686, and with
   * servers of Holdfast, from its end. The server may choose another value. Has no effect since protocol 2026-07-28, where only the server
   * decides. Default: the server's.
   */
  readonly ttlMs?: TimeSpan;
  /**
   * Whether to delete the task on the server once `result()` or `callTool` has its outcome. Errors go to `sdk.onerror`.
   * Only SEP-1686 can delete; elsewhere it has no effect.
   */
  readonly deleteAfterFetch?: boolean | undefined;
  /**
   * Asks the server for progress notifications and is called with each, until the call is answered. In protocol 2025-11-25
   * also while its task runs, in this session only; later versions report a task's progress in its `statusMessage`.
   */
  readonly onProgress?: (progress: Progress) => unknown;
}

/** Options of `callTool`. */
export interface CallAndWaitOptions extends CallOptions {
  /** Called with the task's current state and each change; never if the server answers at once. */
  readonly onUpdate?: (task: RemoteTask) => unknown;
  /**
   * Whether aborting the `signal` also cancels a running task. The call then rejects with the signal's reason once the server has
   * acknowledged, or with `aborted` and the task's reference if it has not within five seconds. Default false: the task continues.
   */
  readonly cancelOnAbort?: boolean;
  /** Called with the task's reference as soon as there is a task; never if the server answers at once. */
  readonly onTask?: (reference: TaskReference) => unknown;
}

/**
 * Options of one read. No other client knows its task, so it is cancelled when the `signal` aborts or the time limit passes. It is not
 * stored in `handles`.
 */
export interface ReadOptions extends WaitOptions, Pick<CallOptions, "ttlMs" | "deleteAfterFetch"> {}

/** Options of `listTasks`. */
export interface ListOptions extends Omit<WaitOptions, "pollIntervalMs"> {
  /** The `nextCursor` of the previous page; left out for the first page. */
  readonly cursor?: string | undefined;
}

/** Options of `saveArtifact`. */
export interface SaveOptions extends Omit<WaitOptions, "pollIntervalMs"> {
  /** Called with the bytes that are saved so far, and those of the whole artifact. */
  readonly onProgress?: (saved: number, size: number) => void;
}

/** A connection to one server. See `connect`. */
export interface TaskClient {
  /** The SDK's client on the same connection, for everything else: listing tools, resources and prompts. */
  readonly sdk: Client;
  /**
   * Calls a tool and waits for its result, through restarts of the server, whether the server answers at once or with a task. Rejects with
   * a TaskClientError.
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
   * While the server cannot be reached at all, the call is sent again until it can. If the connection breaks after the call may have
   * arrived, it is sent again only to a server that declares that it recognises idempotency keys, as a Holdfast server does. Otherwise it
   * rejects with `connection`, because a second call could create a second task.
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
   * All tools of the server. One that is broken is left out and named in `problems`, as in `tool "x": inputSchema is missing`; the others
   * can be used. Rejects with a `TaskClientError`. `listResources`, `listResourceTemplates` and `listPrompts` do the same.
   *
   * ```ts
   * const { tools, problems } = await client.listTools();
   * ```
   */
  listTools(options?: Pick<WaitOptions, "signal" | "timeoutMs">): Promise<{
    readonly tools: readonly Tool[];
    readonly problems: readonly string[];
  }>;
  listResources(options?: Pick<WaitOptions, "signal" | "timeoutMs">): Promise<{
    readonly resources: readonly Resource[];
    readonly problems: readonly string[];
  }>;
  listResourceTemplates(options?: Pick<WaitOptions, "signal" | "timeoutMs">): Promise<{
    readonly resourceTemplates: readonly ResourceTemplateType[];
    readonly problems: readonly string[];
  }>;
  listPrompts(options?: Pick<WaitOptions, "signal" | "timeoutMs">): Promise<{
    readonly prompts: readonly Prompt[];
    readonly problems: readonly string[];
  }>;
  /**
   * Reads a resource. With tasks of SEP-1686 the read is a task, which survives a lost answer or stream; with other tasks it is a plain
   * request. Rejects with a `TaskClientError`.
   *
   * ```ts
   * const { contents } = await client.readResource("reports://2026-10");
   * ```
   */
  readResource(uri: string, options?: ReadOptions): Promise<ReadResourceResult>;
  /**
   * Saves a file that a task has made (an artifact of a Holdfast server) under this path, and replaces what is there. `uri` is that of the
   * link in the result, or from `handle.artifacts()`. Reads it in parts, in little memory, through restarts of the server. If it is stopped,
   * `path` with the ending `.part` has what was saved, and the next call goes on from there. The file has the hash that the server names,
   * otherwise this rejects with `protocol`.
   *
   * ```ts
   * for (const block of result.content)
   *   if (block.type === "resource_link") await client.saveArtifact(block.uri, join("reports", basename(block.name)));
   * ```
   */
  saveArtifact(uri: string, path: string, options?: SaveOptions): Promise<SavedArtifact>;
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
   * The handle of a task that was started earlier, perhaps by another process. Sends nothing; the first use shows whether
   * the server still knows the task. Rejects with `reference` for `null` and for another server's task.
   */
  resume(reference: TaskReference | null, options?: WaitOptions): Promise<TaskHandle>;
  /**
   * The calls to this server in the handle store (see `handles`), in its form of tasks, whose outcomes were not delivered yet, oldest
   * first. Includes calls that this client or another process is waiting for. Outcomes are delivered at least once: a process that dies
   * during the delivery gets the outcome again. Entries that cannot be read go to `sdk.onerror` and are left out. Rejects with `handles`.
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
   * One page of this caller's tasks on the server. Servers list tasks of 2025-11-25 and of SEP-1686. Others, and all since 2026-07-28,
   * reject with `rpc`, code -32601. `pending` works with every server.
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
   * Ends all waits (`closed`), the connection and the process that was started for it. Resolves when nothing is left running. Tasks
   * continue on the server, or when it starts again.
   */
  close(): Promise<void>;
}

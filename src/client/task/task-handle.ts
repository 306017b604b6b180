import type { CallToolResult } from "@modelcontextprotocol/client";
import type { LogLine, OutputPart, TaskArtifact } from "./task-requests.ts";
import type { TimeSpan } from "../../task/time.ts";
import type { Trouble } from "./failures.ts";
import type { RemoteTask, TaskReference } from "./remote-task.ts";

/** Options of one wait. A wait that ends early does not affect the task: the task continues, and you can wait for it again. */
export interface WaitOptions {
  /** Ends the wait; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** How long the wait may take, in milliseconds or such as `"90s"` or `"3d"`; then it rejects with `timeout`. Default: no limit. */
  readonly timeoutMs?: TimeSpan | undefined;
  /**
   * A poll interval for this wait, if longer than the server's. If several waits poll one task, the shortest counts.
   * Default: the server's interval.
   */
  readonly pollIntervalMs?: TimeSpan | undefined;
  /** How long the server may give no valid answer; then the wait rejects with `connection`. Default: no limit. */
  readonly unreachableTimeoutMs?: TimeSpan | undefined;
  /** Called each time that the server gives no valid answer, and with `null` when it answers again. The wait goes on meanwhile. */
  readonly onTrouble?: ((trouble: Trouble | null) => unknown) | undefined;
}

/** Options of reading a log or an output. */
export interface LinesOptions extends WaitOptions {
  /** Whether to continue with each new line until the task has ended. Default true. */
  readonly follow?: boolean | undefined;
}

/**
 * A started call. If the server answered it at once there is no task: `reference` and `taskId` are `null`, and the rest behaves as for a
 * completed task.
 */
export interface TaskHandle {
  /** Pass it to `client.resume`, also in another process. Plain JSON. */
  readonly reference: TaskReference | null;
  readonly taskId: string | null;
  /** The server's suggestion of what to tell a model while the task runs. Only some servers of protocol 2025-11-25 send it. */
  readonly immediateResponse?: string | undefined;
  /** Reads the task once. Rejects with `connection` if the server cannot be reached now. */
  get(options?: WaitOptions): Promise<RemoteTask>;
  /**
   * The current state of the task, then each change until it ends. A slow reader gets the newest state only. Reading also
   * passes the task's questions to `onInput`.
   *
   * ```ts
   * for await (const task of handle.updates()) console.log(task.status, task.statusMessage);
   * ```
   */
  updates(options?: WaitOptions): AsyncIterable<RemoteTask>;
  /**
   * The tool's log, from the first line that the server keeps, then each new line until the task ends. Only Holdfast servers have one:
   * others reject with `rpc`.
   *
   * ```ts
   * for await (const { level, text } of handle.logs()) console.log(level, text);
   * ```
   */
  logs(options?: LinesOptions): AsyncIterable<LogLine>;
  /** The task's output so far, then each new part, in the same way. */
  output(options?: LinesOptions): AsyncIterable<OutputPart>;
  /**
   * The files that the task has made, as far as they are complete. Only Holdfast servers have them: others reject with `rpc`. See
   * `client.saveArtifact`.
   */
  artifacts(options?: WaitOptions): Promise<readonly TaskArtifact[]>;
  /**
   * Waits for the result, over HTTP also through restarts of the server and broken connections, until the task ends or the
   * options end the wait. Rejects with a `TaskClientError` such as `failed`, `cancelled` or `expired`.
   */
  result(options?: WaitOptions): Promise<CallToolResult>;
  /**
   * Asks the server to cancel the task, and repeats the request until the server acknowledges. Cancelling is cooperative: the task may
   * still end in another way, which `result()` reports.
   */
  cancel(options?: WaitOptions): Promise<void>;
  /**
   * Deletes the task and its result on the server, which may refuse. Only tasks of SEP-1686 can be deleted; others reject
   * with `rpc`. See also `deleteAfterFetch`.
   */
  delete(options?: WaitOptions): Promise<void>;
}

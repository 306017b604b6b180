import type { CallToolResult } from "@modelcontextprotocol/client";
import type { LogLine, OutputPart, TaskArtifact } from "./task-requests.ts";
import { type TimeSpan, millisecondsOf } from "../../task/time.ts";
import type { Trouble } from "../reply/retry.ts";
import type { RemoteTask, TaskReference } from "./remote-task.ts";
import { shown } from "../../options/options.ts";
import type { BackgroundWork } from "../background-work.ts";
import type { ClientClock, Deadline } from "../clock.ts";
import { TaskClientError } from "../task-client-error.ts";

/** Ends one wait early: by the caller's signal or `timeoutMs`. Clear it when the wait has ended. */
export class WaitLimit {
  /** Undefined if nothing ends the wait early. */
  readonly signal: AbortSignal | undefined;
  /** The task for the timeout error, if it is known. */
  reference: TaskReference | undefined;
  /** Called with each failure to get an answer. */
  readonly onTrouble: (trouble: Trouble | null) => void;
  readonly #deadline: Deadline | undefined;

  constructor({ signal, onTrouble, ...given }: WaitOptions, clock: ClientClock) {
    const timeoutMs = readMs("timeoutMs", given.timeoutMs);
    const unreachableTimeoutMs = readMs("unreachableTimeoutMs", given.unreachableTimeoutMs);
    this.signal = signal;
    const over =
      timeoutMs === undefined && unreachableTimeoutMs === undefined ? undefined : new AbortController();
    const tellTrouble = (trouble: Trouble | null): void => {
      onTrouble?.(trouble);
      if (trouble === null || trouble.unreachableMs < (unreachableTimeoutMs ?? Infinity)) return;
      const message = `The server gave no valid answer for ${unreachableTimeoutMs} ms: ${trouble.message}`;
      over?.abort(new TaskClientError("connection", message, { reference: this.reference }));
    };
    this.onTrouble = tellTrouble;
    if (over === undefined) return;
    this.signal = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]);
    if (timeoutMs === undefined) return;
    const deadline = clock.deadline(timeoutMs);
    deadline.signal.addEventListener("abort", () => over.abort(this.#error(timeoutMs)), { once: true });
    this.#deadline = deadline;
  }

  /** Aborts also when the client closes. */
  or(closing: AbortSignal): AbortSignal {
    return this.signal === undefined ? closing : AbortSignal.any([this.signal, closing]);
  }

  clear(): void {
    this.#deadline?.clear();
  }

  #error(timeoutMs: number): TaskClientError {
    const { reference } = this;
    return new TaskClientError("timeout", `Timed out after ${timeoutMs} ms`, { reference });
  }
}

/** Throws a RangeError for invalid options. */
export function assertWait({ timeoutMs, pollIntervalMs, unreachableTimeoutMs }: WaitOptions): void {
  readMs("timeoutMs", timeoutMs);
  readMs("unreachableTimeoutMs", unreachableTimeoutMs);
  readMs("pollIntervalMs", pollIntervalMs);
}

/** An option in milliseconds. Throws a RangeError for one that is no length of time. */
export function readMs<Given extends TimeSpan | undefined>(
  name: string,
  given: Given,
): number | Extract<Given, undefined> {
  try {
    return given === undefined ? (given as Extract<Given, undefined>) : millisecondsOf(given);
  } catch {
    throw new RangeError(
      `${name} must be a number of milliseconds of at least 0, or a length of time such as "90s", "15m" or "3d", not ${shown(given)}.`,
    );
  }
}

/** Runs `work` with a signal that aborts by the caller's options, or when the client closes. */
export async function withWaitLimit<Value>(
  options: WaitOptions,
  { clock, background }: { readonly clock: ClientClock; readonly background: BackgroundWork },
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  assertWait(options);
  const limit = new WaitLimit(options, clock);
  try {
    return await work(limit.or(background.closing));
  } finally {
    limit.clear();
  }
}

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

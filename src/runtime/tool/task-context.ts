import type {
  CallToolResult,
  ContentBlock,
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  ElicitResult,
  ListRootsResult,
} from "@modelcontextprotocol/server";
import type { JournalKey } from "../../task/journal.ts";
import type { LogLevel } from "../../task/task-line.ts";
import type { Backoff } from "../backoff.ts";
import type { TaskCaller } from "./caller.ts";
import type {
  AllOptions,
  CalledTool,
  CallResult,
  ToolCall,
  ToolReference,
  ToolResult,
} from "./tool-reference.ts";

/** What a step's function gets. */
export interface StepContext {
  /** The same for every run of this step of this task. Pass it to services that deduplicate by such a key. */
  readonly idempotencyKey: string;
  /** Aborts when the task is cancelled, expires or is lost to another attempt, and at the step's own timeout. */
  readonly signal: AbortSignal;
}

export interface StepOptions {
  /** How often a step that throws is run again; default 0, `Infinity` without end. */
  readonly retries?: number;
  /** The pauses before it is run again; by default they begin at 1 second and double up to a minute. */
  readonly backoff?: Backoff;
  /**
   * Whether it is run again after this error; default: always. What it throws is reported to `onError` and counts as no. A
   * `NonRetryableError` is never tried again.
   */
  readonly retryIf?: (error: unknown) => boolean;
  /** The time limit of each run, in milliseconds; default none. */
  readonly timeoutMs?: number;
}

export interface QuestionOptions {
  /**
   * How long the question waits for its answer, in milliseconds; default: `inputTimeoutMs` of the tool or the server.
   * After that the call rejects with `input_timeout`, on a replay too, and answers are ignored. A time that ends after the
   * task itself rejects at once, with `outlives_task`.
   */
  readonly timeoutMs?: number;
}

export interface EventOptions {
  /**
   * How long to wait, in milliseconds, from the first attempt that got here; default: as long as the task lives. After that the call rejects
   * with `event_timeout`, on a replay too, and an event that comes later is kept for another wait. A time that ends after the task itself
   * rejects at once, with `outlives_task`.
   */
  readonly timeoutMs?: number;
}

/** A question without `mode` is a form. */
export type ElicitParams =
  Omit<ElicitRequestFormParams, "mode"> | ElicitRequestFormParams | ElicitRequestURLParams;

/**
 * What a handler does with its task. Keys are durable: use each once in a task, and do not rename one while tasks that
 * used it still run, but for what `version` says. Code between these calls may run again after a crash; the calls return what they returned before.
 */
export interface TaskContext<Prepared = unknown> {
  /** What the tool's `prepare` returned; undefined for a tool without one. */
  readonly prepared: Prepared;
  /** Who called: the same in every attempt, and in `prepare`. */
  readonly caller: TaskCaller;
  /**
   * What `authenticate` returned as `credentials` for the call, to work on the caller's behalf. Rejects with `no_credentials`
   * where it returned none, and after a restart: they are in memory only, and not kept with the task.
   */
  credentials(): Promise<unknown>;
  /** The task's id. For a call that is answered directly, an id of this run only. */
  readonly id: string;
  /**
   * The client's name for the task: in SEP-1686 the id that the client chose, otherwise `id`, or the reference of a ticket.
   * It is unique for one client only. To name something outside, use `id`.
   */
  readonly wireId: string;
  /** 1 for the first run of the handler, one more for each further one: after a crash, a stop, a wait whose frame was dropped, or a throw. */
  readonly attempt: number;
  /** Aborts when the task is cancelled, expires or is lost to another attempt, when the attempt has ended, and when the server stops. */
  readonly signal: AbortSignal;
  /**
   * Whether the task was cancelled. The signal aborts for other reasons too, after which another attempt may go on with the task: ask this
   * before you stop or undo what the handler has begun elsewhere.
   *
   * ```ts
   * try {
   *   await task.sleep("wait", 60_000);
   * } catch (error) {
   *   if (task.cancelled) await jobs.stop(job);
   *   throw error;
   * }
   * ```
   */
  readonly cancelled: boolean;
  /**
   * Runs `fn` and writes its result, plain JSON data, to the journal. A later attempt gets that result and does not run
   * `fn` again; the same holds for what `fn` throws after its last retry. Rejects with `duplicate_key`, `nested_step`,
   * `not_json`, `replay_mismatch` and `too_large`.
   */
  step<T>(key: JournalKey, fn: (step: StepContext) => T | Promise<T>): Promise<T>;
  step<T>(key: JournalKey, options: StepOptions, fn: (step: StepContext) => T | Promise<T>): Promise<T>;
  /**
   * Asks the client's user. The answer is written to the journal, so an answered question is not asked again. Rejects, on
   * a replay too, with `input_failed` where the client answered with an error (in `data`), as `sample` and `roots` do.
   */
  elicit(key: JournalKey, params: ElicitParams, options?: QuestionOptions): Promise<ElicitResult>;
  /** Asks the client's model. */
  sample(
    key: JournalKey,
    params: CreateMessageRequestParams,
    options?: QuestionOptions,
  ): Promise<CreateMessageResult>;
  /** Asks for the client's roots. */
  roots(key: JournalKey, options?: QuestionOptions): Promise<ListRootsResult>;
  /**
   * Calls another tool of the server, on behalf of the same caller, and resolves with its result, which is written to the journal. The call is
   * a task of its own, which no client sees: it survives crashes as this one does, its questions are put as those of this one, and it is
   * cancelled with this one. The handler gives its slot back meanwhile. Rejects with a `TaskCallError`, on a replay too, where the tool does not
   * succeed; with `insufficient_scope` where its caller may not call it; with `invalid_params` for arguments that it does not take.
   *
   * ```ts
   * const { structuredContent } = await task.call("scan", scan, { url }); // scan is what tasks.tool("scan", …) returned
   * ```
   */
  call<Args, Structured>(
    key: JournalKey,
    tool: ToolReference<Args, Structured>,
    args: NoInfer<Args>,
  ): Promise<ToolResult<Structured>>;
  /** The same by the tool's name, for which nothing is known of what it takes and returns. */
  call(key: JournalKey, tool: string, args?: Readonly<Record<string, unknown>>): Promise<CallToolResult>;
  /**
   * Makes many calls of tools, some at a time, and resolves with their results in the order of the calls. The key of each is this one with its
   * place behind it. Rejects with the first failure: no more calls begin then, and those that are under way go on until this task ends.
   *
   * ```ts
   * const results = await task.all("scan", urls.map((url) => ({ tool: scan, arguments: { url } })), { concurrency: 20 });
   * ```
   */
  all<const Tools extends readonly CalledTool[]>(
    key: JournalKey,
    calls: { readonly [Place in keyof Tools]: ToolCall<Tools[Place]> },
    options?: AllOptions,
  ): Promise<{ -readonly [Place in keyof Tools]: CallResult<Tools[Place]> }>;
  /**
   * Waits for an event of this name that the server's own code sends to the task with `tasks.sendEvent`, and resolves with its value, which
   * is not checked. The handler gives its slot back meanwhile. Each event ends one wait. Those that nobody waits for yet are kept, and
   * taken in the order in which they came.
   *
   * ```ts
   * const { paid } = await task.waitForEvent<{ paid: boolean }>("payment", "payment", { timeoutMs: 86_400_000 });
   * ```
   */
  waitForEvent<T = unknown>(key: JournalKey, name: string, options?: EventOptions): Promise<T>;
  /**
   * Waits `ms` milliseconds, counted from the first attempt that got here: a restart does not start the wait again. It may
   * last for months, and the handler gives its slot back meanwhile. Rejects at once, with `outlives_task`, where the task
   * itself ends before: by a ttl, or by `maxRunMs`.
   */
  sleep(key: JournalKey, ms: number): Promise<void>;
  /**
   * Whether the task began under version `since` of its tool, or a later one: the way to change a handler while tasks of an earlier version
   * run, which get false. The answer is written to the journal. A call that is answered directly gets true. Rejects with `configuration` where
   * the tool has no such version yet: raise its `version` together with the change.
   *
   * ```ts
   * const rows = (await task.version("warehouse", 2))
   *   ? await task.step("rows from the warehouse", () => queryWarehouse(month))
   *   : await task.step("rows", () => queryDatabase(month));
   * ```
   */
  version(key: JournalKey, since: number): Promise<boolean>;
  /**
   * Sets the text that clients see beside the status, as often as you like: of texts that come faster than they are written,
   * the last one wins. Resolves once it, or a later one, is stored; there is no need to await it.
   */
  status(message: string): Promise<void>;
  /**
   * Reports how far the work is, and returns at once. Reports are coalesced and the furthest is written, so report as often
   * as you like. Progress never goes back, even after a crash: a smaller report is ignored; an equal one can bring another
   * total or message. Clients without progress notifications see it in the status text.
   */
  progress(progress: number, total?: number, message?: string): void;
  /**
   * Appends a line to the log of the task: how severe it is, a text, and plain JSON data if there is any. Clients read the log while the task
   * runs and after it, operators as well; it keeps the newest lines, up to `maxLogLines` and `maxLogBytes`. What runs again after a crash or for
   * a retry appends no line twice that says the same, so keep times and random values out of it: each line has its time. Resolves
   * once the line is stored; there is no need to await it. Throws at once, with a TypeError for what is no line, with `not_json` and `too_large`,
   * and with `step_timeout` in a step that goes on after its time limit.
   *
   * ```ts
   * task.log("info", `Page ${page} of ${pages} is indexed`, { page, pages });
   * ```
   */
  log(level: LogLevel, text: string, data?: unknown): Promise<void>;
  /**
   * Appends to the output of the task, which clients can read before there is a result: a text, or content as results have it. As with the log
   * nothing is appended twice. Resolves once it is stored; there is no need to await it. Nothing of it is ever dropped: throws at once, with
   * `limit_reached`, where there is no room for it (`maxOutputBlocks`, `maxOutputBytes`), with a TypeError for what is no content, with `not_json`, and as
   * `log` with `step_timeout`.
   *
   * ```ts
   * for (const chapter of chapters) {
   *   const summary = await task.step(["summary", chapter.name], () => summarize(chapter));
   *   await task.output(summary);
   * }
   * ```
   */
  output(content: string | ContentBlock | readonly ContentBlock[]): Promise<void>;
  /**
   * Sets the life of the task, its result included, in milliseconds from its creation; in SEP-1686, how long it is kept from
   * its end. `null` keeps it for ever. In place of a ttl, and of `maxRunMs` unless it is `null`.
   */
  extend(ttlMs: number | null): Promise<void>;
  /** Sets the poll interval that clients are told to keep, in milliseconds. */
  pollInterval(ms: number): Promise<void>;
}

import type { TimeSpan } from "../../task/time.ts";
import { numberKind, orKind } from "../../options/kind.ts";
import { callback, options, row, tableOf, time, value } from "../../options/options.ts";
import type {
  ContentBlock,
  CreateMessageRequestParams,
  CreateMessageResult,
  ListRootsResult,
  ResourceLink,
} from "@modelcontextprotocol/server";
import type { ExecOptions, ExecResult } from "../exec/exec-options.ts";
import type { JournalKey } from "../../task/journal.ts";
import type { LogLevel } from "../../task/task-line.ts";
import type { ElicitAnswer, ElicitParams, Form, JsonForm } from "../questions/form.ts";
import type { EventName, EventSchemas, EventValue, EventWait } from "./declared-events.ts";
import type { AllOptions, CalledTool, CallRest, CallResult, PollOptions, ToolCall } from "./called-tool.ts";
import { backoffOptions, type Backoff } from "../clock.ts";
import type { WorkerExport, WorkerInput, WorkerOutput, WorkerOptions } from "../threads/worker-options.ts";
import type { LimitName } from "../limits/limit-name.ts";
import { isLimitName } from "../limits/limit-options.ts";
import type { ArtifactOptions, ArtifactSource } from "./handler-return.ts";
import type { TaskCaller } from "./task-caller.ts";

/** What a step's function gets. */
export interface StepContext {
  /** The same for every run of this step of this task. Pass it to services that deduplicate requests by such a key. */
  readonly idempotencyKey: string;
  /** Aborts when the task is cancelled, expires or moves to another attempt, and when the step times out. */
  readonly signal: AbortSignal;
}

/** What runs as a step. Its result cannot be a function or a symbol, or a list of them. */
export type StepFunction<T> = ((step: StepContext) => T | Promise<T>) & Storable<T>;

type Storable<T> = 0 extends 1 & T
  ? unknown
  : [Extract<T extends readonly (infer Each)[] ? Each : T, Unstorable>] extends [never]
    ? unknown
    : { readonly "a step cannot return a function or a symbol": never };

type Unstorable = symbol | ((...args: never[]) => unknown) | (abstract new (...args: never[]) => unknown);

class DeclaredStepOptions {
  /** How often a step that throws runs again. `Infinity`: without limit. Default 0. */
  readonly retries?: number = row(orKind(numberKind("number", { min: 0 }), Infinity), { default: 0 });
  /** The pauses before it runs again. By default they start at 1 second and double up to a minute. */
  readonly backoff?: Backoff = options(backoffOptions);
  /**
   * Whether the step runs again after this error; default: always. If it throws, the error goes to `onError` and the step does not run
   * again. A `NonRetryableError` is never retried. A number above 0: it runs again after so many milliseconds, and that counts as no retry.
   */
  readonly retryIf?: (error: unknown) => boolean | number = callback();
  /**
   * A limit that `createTasks` declares in `limits`, or such a limit and a key. The step runs once it has a permit, which all steps of all
   * processes share; until then it waits without a slot. Default: none, at no cost.
   */
  readonly limit?: LimitName = value(
    'the name of a limit, or a name and a key: ["openai", tenant]',
    isLimitName,
  );
  /** The time limit of each run. Default: none. */
  readonly timeoutMs?: TimeSpan = time({ min: 0, fractions: true });
}

/** Options of `task.step`. */
export interface StepOptions extends DeclaredStepOptions {}

export const stepOptions = tableOf<StepOptions>(DeclaredStepOptions);

class DeclaredQuestionOptions {
  /**
   * How long the question waits for its answer, in milliseconds; default: `inputTimeoutMs` of the tool or the server. After that the call
   * rejects with `input_timeout`, on a replay too, and answers are ignored. A timeout after the end of the task itself rejects at once,
   * with `outlives_task`.
   */
  readonly timeoutMs?: TimeSpan = time({ min: 0, fractions: true });
}

export interface QuestionOptions extends DeclaredQuestionOptions {}

export const questionOptions = tableOf<QuestionOptions>(DeclaredQuestionOptions);

class DeclaredEventOptions {
  /**
   * How long to wait, in milliseconds, counted from the first attempt that got here; default: as long as the task lives. After that the
   * call rejects with `event_timeout`, on a replay too, and a later event is kept for another wait. A timeout after the end of the task
   * itself rejects at once, with `outlives_task`.
   */
  readonly timeoutMs?: TimeSpan = time({ min: 0, fractions: true });
}

/** Options of `task.waitForEvent`. */
export interface EventOptions extends DeclaredEventOptions {}

export const eventOptions = tableOf<EventOptions>(DeclaredEventOptions);

/**
 * What a handler does with its task. Keys are durable: use each once per task, and do not rename a key while tasks that used it still run,
 * unless you use `version`. Code between these calls may run again after a crash; the calls then return what they returned before.
 */
export interface TaskContext<Prepared = unknown, Declared extends EventSchemas | undefined = undefined> {
  /** What the tool's `prepare` returned; undefined for a tool without one. */
  readonly prepared: Prepared;
  /** Who called: the same in every attempt, and in `prepare`. */
  readonly caller: TaskCaller;
  /**
   * What `authenticate` returned as `credentials` for the call, to act on the caller's behalf. Rejects with `no_credentials` if it returned
   * none, and after a restart: credentials are in memory only, and not stored with the task.
   */
  credentials(): Promise<unknown>;
  /** The task's id. For a call that is answered directly, an id of this run only. */
  readonly id: string;
  /**
   * The client's name for the task: in SEP-1686 the id that the client chose, otherwise `id` or the reference of a ticket. It is unique for
   * one client only. To name something outside, use `id`.
   */
  readonly wireId: string;
  /**
   * 1 for the first run of the handler, and one more for each further run: after a crash, a stop, a wait during which it was dropped from
   * memory, or a throw.
   */
  readonly attempt: number;
  /** Aborts when the task is cancelled, expires or moves to another attempt, when the attempt has ended, and when the server stops. */
  readonly signal: AbortSignal;
  /**
   * Whether the task was cancelled. The signal also aborts for other reasons, after which another attempt may continue the task. So check
   * this before you stop or undo what the handler has started elsewhere.
   *
   * ```ts
   * try {
   *   await task.sleep("wait", "1m");
   * } catch (error) {
   *   if (task.cancelled) await jobs.stop(job);
   *   throw error;
   * }
   * ```
   */
  readonly cancelled: boolean;
  /**
   * Runs a function of a module as a step on a thread, with this input, so that the server answers others while it computes. It gets the input, and as
   * its second argument the signal, `log`, `progress`, `status` and `output`. When the task is cancelled, or the time is over, its thread is ended. A thread
   * that crashes is a try that fails with `worker_crashed`. Input and result are copied as results of steps are, so what those cannot have is refused.
   *
   * ```ts
   * const digest = await task.step("hash", { worker: new URL("./hash.ts", import.meta.url), export: "hash" }, { path });
   * ```
   */
  step<Exports, const Name extends WorkerExport<Exports>>(
    key: JournalKey,
    options: StepOptions & WorkerOptions<Exports, Name>,
    input: WorkerInput<Exports, Name>,
  ): Promise<WorkerOutput<Exports, Name>>;
  /**
   * Runs `fn` and writes its result to the journal. A later attempt gets that result and does not run `fn` again; the same holds for what
   * `fn` throws after its last retry. The handler gets a copy, the same in each attempt: of plain data, dates, big integers, maps, sets,
   * bytes, URLs, patterns and errors; of an instance of another class its `toJSON()`, or its own enumerable data, without methods. An error
   * has its name, message, `code`, `data` and causes. Functions, symbols and cycles are refused with `not_json`, and more than `maxBodyBytes`
   * with `too_large`: `fn` has run then, and does not run again. Rejects also with `duplicate_key` and `nested_step`.
   */
  step<T>(key: JournalKey, fn: StepFunction<T>): Promise<T>;
  step<T>(key: JournalKey, options: StepOptions, fn: StepFunction<T>): Promise<T>;
  /**
   * Looks again and again until something is ready, for as long as the task lives: a job elsewhere, a file, a deployment. Resolves with what
   * `fn` returns once it is not `undefined`, or once `until` accepts it. Between two looks it takes no slot, and a restart does not look
   * earlier. However often it looks, it is one entry of the journal. A look that throws is tried again as `retries`, `backoff` and `retryIf`
   * say; then the poll rejects with the error. Rejects with `poll_timeout` after `timeoutMs`, and as a step does. Log lines with a text that an
   * earlier look has logged are not logged again.
   *
   * ```ts
   * const done = await task.poll(
   *   "render",
   *   { every: "15s", until: (job) => job.state !== "running", timeoutMs: "7d", retries: 10 },
   *   () => renderFarm.jobOf(jobId),
   * );
   * ```
   */
  poll<T>(
    key: JournalKey,
    options: PollOptions<T> & { readonly until: (value: T) => boolean },
    fn: StepFunction<T>,
  ): Promise<T>;
  poll<T>(key: JournalKey, options: PollOptions<T>, fn: StepFunction<T>): Promise<Exclude<T, undefined>>;
  /**
   * Repeats a piece of work that has no end, or a very late one: a watcher, a subscription, a sync. Each round gets the state that the last one
   * handed on with `round.next`, in the journal's form; the loop resolves with what a round returns instead. One write ends a round: the new state
   * takes the place of all that the round had journalled, so the journal stays small however many rounds there are. Then the handler runs again, perhaps in another
   * process or with newer code: what came before the loop is replayed, and the round begins. The keys of a round, and its idempotency keys, are its
   * own: use `round` for its steps, questions and waits. A round ends when its steps have ended. Questions and waits for events that are still open
   * are closed then, and tasks that it has called are cancelled. Give such a tool a long `maxRunMs`, such as `"520w"`.
   *
   * ```ts
   * await task.loop("sync", { cursor: "" }, async ({ cursor }, round) => {
   *   const page = await round.step("page", () => changesSince(cursor));
   *   if (page.done) return page.total;
   *   await round.sleep("pause", "15m");
   *   return round.next({ cursor: page.cursor });
   * });
   * ```
   */
  loop<State, Result>(
    name: string,
    initial: State,
    round: (state: State, round: RoundContext<State, Prepared, Declared>) => Promise<Result>,
  ): Promise<Exclude<Result, NextRound>>;
  /**
   * Runs a program as a step, without a shell, and resolves with what it printed and its exit code. It runs in a process group of its own, which is
   * ended when the task is cancelled or the time is over. A crash or a deploy of the server does not touch it: the next process on this machine reads
   * on where the last one stopped, and takes its exit code, also when it has ended in between (`onCrash`). Its output also goes to the task's log, line
   * by line. Rejects with an `ExecError` if it fails, or is gone without an exit code, and with `step_timeout`. Needs a POSIX system.
   *
   * ```ts
   * const { stdout } = await task.exec("tests", "npx", ["vitest", "run"], { cwd: checkout, timeoutMs: "30m" });
   * ```
   */
  exec(key: JournalKey, file: string, args?: readonly string[], options?: ExecOptions): Promise<ExecResult>;
  /**
   * Asks the client's user. The answer is written to the journal, so an answered question is not asked again. Like `sample` and `roots`,
   * rejects with `input_failed` if the client answered with an error (in `data`), on a replay too. A form can be a flat object schema, which
   * checks and types the answer.
   *
   * ```ts
   * const requestedSchema = z.object({ depth: z.enum(["flat", "deep"]) });
   * const { action, content } = await task.elicit("depth", { message: "How deep?", requestedSchema });
   * if (action === "accept") await scan(content.depth);
   * ```
   */
  elicit<Of extends Form = JsonForm>(
    key: JournalKey,
    params: ElicitParams<Of>,
    options?: QuestionOptions,
  ): Promise<ElicitAnswer<Of>>;
  /** Asks the client's model. */
  sample(
    key: JournalKey,
    params: CreateMessageRequestParams,
    options?: QuestionOptions,
  ): Promise<CreateMessageResult>;
  /** Asks for the client's roots. */
  roots(key: JournalKey, options?: QuestionOptions): Promise<ListRootsResult>;
  /**
   * Calls another tool of the server on behalf of the same caller, and resolves with its result, which is written to the journal. The call
   * is a separate task, which clients do not see. It survives crashes, asks its questions through this task, and is cancelled with it. The
   * handler frees its slot while it waits. Rejects with a `TaskCallError`, on a replay too, if the tool does not succeed; with
   * `insufficient_scope` if the caller may not call it; with `invalid_params` for invalid arguments. A tool's name has no types for them.
   *
   * ```ts
   * const { structuredContent } = await task.call("scan", scan, { url }); // scan is what tasks.tool("scan", …) returned
   * ```
   */
  call<Called extends CalledTool>(
    key: JournalKey,
    tool: Called,
    ...args: CallRest<Called>
  ): Promise<CallResult<Called>>;
  /**
   * Calls many tools, several at the same time, and resolves with their results in the order of the calls. The key of each call is this key
   * followed by its index. Rejects with the first failure: no more calls start then, and running ones continue until this task ends.
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
   * Waits for an event of this name that the server's own code sends to the task with `tasks.sendEvent`, and resolves with its value: what
   * the schema makes of it that the tool declares in `events`. Without `events` it is not checked. The handler frees its slot while it
   * waits. Each event ends one wait. Events that arrive before a wait are kept, and taken in the order of arrival. Rejects with
   * `configuration` for a name that `events` does not have.
   *
   * ```ts
   * const { paid } = await task.waitForEvent("payment", "payment", { timeoutMs: "1d" });
   * ```
   */
  waitForEvent<
    Value extends (Declared extends undefined ? unknown : never) = never,
    Name extends EventName<Declared> = EventName<Declared>,
  >(
    key: JournalKey,
    name: Name,
    options?: EventOptions,
  ): EventWait<[Value] extends [never] ? EventValue<Declared, Name> : Value>;
  /**
   * Waits for a length of time, in milliseconds or such as `"3d"`, counted from the first attempt that got here, so a restart does not begin it
   * again; or until a `Date`. It may last for months; the handler frees its slot meanwhile. Rejects at once with `outlives_task` if the task
   * itself ends before that, by a ttl or by `maxRunMs`.
   */
  sleep(key: JournalKey, time: TimeSpan | Date): Promise<void>;
  /**
   * Whether the task began under version `since` of its tool, or a later one. Use it to change a handler while tasks of an earlier version
   * run, which get false. The answer is written to the journal. A call that is answered directly gets true. Rejects with `configuration` if
   * the tool does not have that version yet: raise its `version` together with the change.
   *
   * ```ts
   * const rows = (await task.version("warehouse", 2))
   *   ? await task.step("rows from the warehouse", () => queryWarehouse(month))
   *   : await task.step("rows", () => queryDatabase(month));
   * ```
   */
  version(key: JournalKey, since: number): Promise<boolean>;
  /**
   * Says what names of keys were before. A task whose journal has an old one goes on with it, and with its `idempotencyKey`; others use the
   * new one. Also holds for lists that begin with the name: `["hash", path]`. Call it before the name is used: else it throws `configuration`.
   *
   * ```ts
   * task.renamed({ rows: "rows of the database" });
   * ```
   */
  renamed(names: Readonly<Record<string, string>>): void;
  /**
   * Sets the text that clients see next to the status. Call it as often as you like: if texts come faster than they are written, the last
   * one wins. A text of more than `maxStatusBytes` is cut. It ends with the task, which then says why it failed, or who cancelled it.
   * Resolves once this text, or a later one, is stored; you need not await it.
   */
  status(message: string): Promise<void>;
  /**
   * Reports progress, and returns at once. Call it as often as you like: reports are combined, and the furthest is written. Progress never
   * goes back, even after a crash: a smaller report is ignored, but an equal one can change the total or message. A report without a finite
   * number is left out. Clients without progress notifications see it in the status text.
   */
  progress(progress: number, total?: number, message?: string): void;
  /**
   * Appends a line to the task's log: a level, a text, and optional data. Clients and operators can read the log while the task runs and
   * afterwards. It keeps the newest lines, up to `maxLogLines` and `maxLogBytes`. Data of any kind is taken: what is not plain JSON data is
   * described, an error by its name, message, `code`, `data` and causes. A line of more than 64 KiB is cut, with a mark. Code that runs again
   * after a crash or for a retry does not append the same line twice, so keep times and random values out of it: each line has its own
   * time. Resolves once the line is stored; you need not await it. It never throws and never rejects for what is logged. It rejects with
   * `step_timeout` in a step that continues after its time limit.
   *
   * ```ts
   * task.log("info", `Page ${page} of ${pages} is indexed`, { page, pages });
   * ```
   */
  log(level: LogLevel, text: string, data?: unknown): Promise<void>;
  /**
   * Appends to the task's output, which clients can read before there is a result: a text, or content as in results. Anything else becomes a
   * text. As with the log, nothing is appended twice. Resolves once it is stored; you need not await it. An output that has no room
   * (`maxOutputBlocks`, `maxOutputBytes`) ends with a block that says so and keeps nothing more; the task's log then says how many blocks are
   * missing. Like `log`, it never fails for what is passed.
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
   * Stores a file with the task: a report, an export, an image, of any size up to `maxArtifactBytes`. Clients read it as a resource, whole or
   * in parts, for as long as the task is kept. Resolves with a link to it, which is content for the result. The name, such as `report.csv`,
   * is a key like those of steps. A stream is stored as it comes, in little memory. A later attempt gets the same link, and neither reads the
   * data nor stores it again; pass a function to open the data only if it is needed. After a crash in the middle it is stored from the
   * beginning. What the data throws, it rejects with, on a replay too; with `too_large` above the limit. A tool that another tool called has no
   * artifacts, as its task is deleted when it ends.
   *
   * ```ts
   * const report = await task.artifact("report.csv", () => exportRows(month), { mimeType: "text/csv" });
   * return { content: [report] };
   * ```
   */
  artifact(name: string, data: ArtifactSource, options?: ArtifactOptions): Promise<ResourceLink>;
  /**
   * Sets the life of the task, its result included, in milliseconds from its creation, or such as `"3d"`; in SEP-1686, how long it is kept
   * after its end. `null` keeps it forever. Replaces a ttl, and also `maxRunMs` unless it is `null`.
   */
  extend(ttl: TimeSpan | null): Promise<void>;
  /** Sets the poll interval that clients are told to keep, in milliseconds or such as `"30s"`. */
  pollInterval(interval: TimeSpan): Promise<void>;
}

/** What `round.next` returns: return it from the round. */
export class NextRound {
  readonly #state: unknown;

  constructor(state: unknown) {
    this.#state = state;
  }

  get state(): unknown {
    return this.#state;
  }
}

/** The task within a round of a loop. The keys that it takes are those of the round; names of artifacts are the task's, and stay. */
export interface RoundContext<
  State,
  Prepared = unknown,
  Declared extends EventSchemas | undefined = undefined,
> extends Omit<TaskContext<Prepared, Declared>, "loop"> {
  /** From 1. */
  readonly number: number;
  /** Ends the round, once it is returned: the next one begins with this state, which can be what results of steps can be. */
  next(state: NoInfer<State>): NextRound;
}

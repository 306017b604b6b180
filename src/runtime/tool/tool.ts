import type { CallToolResult, Icon, StandardSchemaV1, ToolAnnotations } from "@modelcontextprotocol/server";
import type {
  PrepareContext,
  TaskContext,
  StructuredContent,
  ToolInput,
  ToolReference,
} from "./task-context.ts";
import { optionProblem, type OptionNames } from "../../task/option-names.ts";
import { backoffProblem, type Backoff } from "../backoff.ts";

/** Whether calls of a tool become tasks. */
export type TaskMode =
  /** only as a task: callers without tasks get an error */
  | "required"
  /** as a task if the caller supports tasks, otherwise answered directly */
  | "optional"
  /** never as a task */
  | "forbidden";

/**
 * What happens to a task whose attempt was lost in a crash. `resume` runs it again with its journal, `fail` fails it. `auto` runs it again
 * if its handler had not started, if it had begun a step, a question or a wait, or if its tool is marked idempotent or read-only or has
 * `retry`. Otherwise it fails the task, because it is unknown how far the handler got.
 */
export type OnCrash = "auto" | "resume" | "fail";

/**
 * How clients without tasks are answered. `wait`: when the work is done. `ticket`: when the work is done, or after `plainDeadlineMs` with a
 * short reference that the model uses to fetch the result later.
 */
export type PlainPolicy = "wait" | "ticket";

/** Client capabilities that a tool's questions need. */
export type InputCapability = "elicitation" | "sampling" | "roots";

/**
 * Describes a tool. Schemas are those that the SDK takes: Standard Schemas with a JSON form, such as those of zod 4, of `zod/v4` in zod
 * 3.25, or of the SDK's `fromJsonSchema`.
 */
export interface ToolConfig<
  Input extends StandardSchemaV1 | undefined = StandardSchemaV1 | undefined,
  Prepared = undefined,
  Older = Record<never, never>,
  Output extends StandardSchemaV1 | undefined = StandardSchemaV1 | undefined,
> {
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: Input;
  readonly outputSchema?: Output;
  readonly annotations?: ToolAnnotations;
  readonly icons?: Icon[];
  readonly _meta?: Record<string, unknown>;
  /** Default `optional`. */
  readonly task?: TaskMode;
  /** Client capabilities that the tool's questions need. Calls from clients without them are refused. */
  readonly requires?: readonly InputCapability[];
  /** Default `auto`. */
  readonly onCrash?: OnCrash;
  /**
   * Runs a handler that threw again, after a pause and with its journal: steps that succeeded do not run again, and failed steps do. Left
   * out, a throw ends the task. These always end the task: a `NonRetryableError`, a `ProtocolError`, a mistake that Holdfast reports to the
   * handler, a throw of `prepare`, a failed question or wait for an event (the failure is final), a cancel, and a result with `isError`
   * that the handler returned itself. A tool with `retry` cannot be `forbidden`, nor have `promoteAfterMs` or `onCrash: "fail"`. With `auto` it
   * also runs again after every crash.
   */
  readonly retry?: RetryPolicy;
  /**
   * `false`: a handler that waits for an answer, an event or a sleep always stays in memory, and runs again as soon as a server starts.
   * Left out, it may be dropped from memory while everything in it waits; it then runs again with its journal when a wait ends. Set `false`
   * for handlers that do other work during a wait, outside of steps: a timer, a request, a listener of `signal`. Has no effect with
   * `onCrash: "fail"`, which never runs a handler again.
   */
  readonly park?: boolean;
  /**
   * Runs before the task exists, and can ask the client during its call. Returns plain JSON data, which the handler finds in
   * `task.prepared`. If it throws, the call is answered as if the handler had thrown, and no task is created. Nothing is stored between its
   * questions: it starts again with each answer, so it should only read and ask. Before protocol 2026-07-28 it runs as the first part of
   * the task, or of the direct call.
   */
  readonly prepare?: Prepare<ToolArguments<Input>, Prepared>;
  /**
   * How long a call runs directly, in milliseconds, before it becomes a task. It becomes one earlier at its first step, question or wait.
   * Left out, every call of a client with tasks is a task from the start, and so is a call with an idempotency key. Has no effect in
   * protocol 2025-11-25, where the client chooses.
   */
  readonly promoteAfterMs?: number;
  /**
   * A text for the model that clients of protocol 2025-11-25 get with the created task: what the model can say or do while the task runs.
   * Must not be empty.
   */
  readonly immediateResponse?: string;
  /** Overrides the server's `plain` for an optional tool. Default `wait` for one with an output schema, if neither is set. */
  readonly plain?: PlainPolicy;
  /** Overrides the server's `plainDeadlineMs`, in milliseconds. */
  readonly plainDeadlineMs?: number;
  /**
   * Whether a repeated call of the same caller without tasks joins the first one, until the first one's result has been delivered. Left
   * out, it joins if no caller waits for the first call any more, so that a lost call runs once; for a tool marked idempotent or read-only,
   * always. `true`: always. `false`: never.
   */
  readonly joinCalls?: boolean;
  /**
   * How many tasks of this tool run at the same time, across all processes that share the store; others wait for their turn. A task counts
   * from its start to its end, but not while it waits for an answer or a timer for more than a second. Left out, only the server's
   * `concurrency` applies. A tool with this option cannot be `forbidden`, nor have `promoteAfterMs`: runs without a task are not counted.
   */
  readonly concurrency?: number;
  /**
   * Tasks of a tool with a higher number always start first, however long tasks with a lower one wait. A whole number, which may be
   * negative. Default 0.
   */
  readonly priority?: number;
  /** Overrides the server's `ttlMs`: the life of a task, its result included, in milliseconds from its creation. */
  readonly ttlMs?: number | null;
  /** Overrides the server's `pollIntervalMs`. */
  readonly pollIntervalMs?: number;
  /** Overrides the server's `maxRunMs`. */
  readonly maxRunMs?: number;
  /**
   * How long a handler may work without a break, in milliseconds. The time starts with the handler, starts again after each wait, and stops
   * while everything in it waits for an answer, an event or a sleep. Time in which the store fails does not count. When it is over, the
   * signal aborts and the attempt ends with `attempt_timeout`, even if the handler continues. A handler that continues for another
   * `cancelGraceMs` counts as leaked, unless its tool is `forbidden`. Work outside of steps counts again when the handler runs again. Left
   * out: no limit.
   */
  readonly timeoutMs?: number;
  /** Overrides the server's `inputTimeoutMs`. */
  readonly inputTimeoutMs?: number | null;
  /**
   * The version of the tool's code, a whole number from 1; default 1. Raise it when you change the handler in a way that running tasks must
   * not see. A task keeps the version that the tool has at its first start. It uses the handler in `olderVersions`, or else this one, which
   * can ask `task.version`. A process leaves tasks of a higher version to newer processes.
   */
  readonly version?: number;
  /**
   * Handlers for tasks that began under earlier versions, by version. Keep them as long as such tasks may run.
   *
   * ```ts
   * version: 2,
   * inputSchema: z.object({ from: z.string(), to: z.string() }),
   * olderVersions: {
   *   1: { inputSchema: z.object({ month: z.string() }), handler: async ({ month }, task) => publishMonth(month, task) },
   * },
   * ```
   */
  readonly olderVersions?: { readonly [Version in keyof Older]: OlderVersion<Older[Version]> };
}

/** An earlier version of a tool, for the tasks that began under it. Everything not named here is as in the current tool. */
export interface OlderVersion<Args = unknown> {
  /** The schema of that version. Left out, the handler gets the arguments as the client sent them. */
  readonly inputSchema?: StandardSchemaV1<unknown, Args>;
  /** The schema of that version. Left out, structured content of results is not checked. */
  readonly outputSchema?: StandardSchemaV1;
  /** The `prepare` of that version, for tasks whose `prepare` has not ended. */
  readonly prepare?: Prepare<KnownArguments<Args>, unknown>;
  readonly handler: ToolHandler<KnownArguments<Args>, unknown>;
}

/** Without a schema, arguments are only known to have names. */
type KnownArguments<Args> = unknown extends Args ? Record<string, unknown> : Args;

/** The arguments as the handler gets them: validated, with the schema's defaults and transforms applied. */
export type ToolArguments<Input> = Input extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Input>
  : Record<string, unknown>;

export type Prepare<Args, Prepared> = (args: Args, ask: PrepareContext) => Prepared | Promise<Prepared>;

export type ToolHandler<Args, Prepared = undefined> = (
  args: Args,
  task: TaskContext<Prepared>,
) => CallToolResult | Promise<CallToolResult>;

/** A registered tool, or an earlier version of one. */
export interface Tool extends Omit<ToolConfig, "prepare" | "olderVersions"> {
  readonly name: string;
  readonly version: number;
  readonly olderVersions: ReadonlyMap<number, Tool>;
  readonly task: TaskMode;
  readonly requires: readonly InputCapability[];
  readonly onCrash: OnCrash;
  readonly prepare?: Prepare<never, unknown>;
  readonly handler: ToolHandler<never, never>;
  /** The handler's return value is not a tool result, and is stored as it is. */
  readonly raw?: true;
}

/** When a handler that threw runs again, with its journal. */
export interface RetryPolicy {
  /** How often it runs in total, including the first time: a whole number of at least 2. Attempts that ended in a crash do not count. */
  readonly attempts: number;
  /** The pauses before it runs again. They continue across a restart of the server. */
  readonly backoff?: Backoff;
  /** Whether it runs again after this error. Left out: after every error except those that always end the task. */
  readonly on?: (error: unknown) => boolean;
}

const names: OptionNames<RetryPolicy> = { attempts: true, backoff: true, on: true };

/** Other options of a tool that affect further attempts. */
interface OtherOptions {
  readonly task?: string;
  readonly promoteAfterMs?: number;
  readonly onCrash?: string;
}

/** What is wrong with a tool's `retry`, as the rest of a sentence; undefined if nothing is. */
export function retryProblem(
  retry: RetryPolicy,
  { task, promoteAfterMs, onCrash }: OtherOptions,
): string | undefined {
  const problem = optionProblem("retry", retry, names);
  if (problem !== undefined) return problem;
  const { attempts, backoff, on } = retry;
  if (!Number.isSafeInteger(attempts) || attempts < 2)
    return "retry.attempts has to be a whole number of at least 2, the first attempt included.";
  if (on !== undefined && typeof on !== "function") return "retry.on has to be a function.";
  if (backoff !== undefined) {
    const wrong = backoffProblem("retry.backoff", backoff);
    if (wrong !== undefined) return wrong;
  }
  if (onCrash === "fail")
    return 'retry runs a handler again, which onCrash: "fail" forbids: remove one of the two';
  const direct =
    task === "forbidden" ? 'task: "forbidden"' : promoteAfterMs === undefined ? undefined : "promoteAfterMs";
  return direct === undefined
    ? undefined
    : `retry needs a task, but with ${direct} the tool runs without one: remove one of the two`;
}

/** Receives faults that no caller sees. */
export type Report = (error: unknown) => void;

/** What an author's `retryIf` or `retry.on` says about an error. If it throws or returns a promise, the answer is no, and that is reported. */
export function ruleAllows(rule: (error: unknown) => boolean, error: unknown, report: Report): boolean {
  try {
    const answer: unknown = rule(error);
    if (!(answer instanceof Promise)) return Boolean(answer);
    answer.catch(() => undefined);
    throw new TypeError("A function that decides about retries must return true or false, not a promise.");
  } catch (thrown) {
    report(thrown);
    return false;
  }
}

type Schema = StandardSchemaV1 | undefined;

/** Changes to a registered tool. Options that you leave out stay as they are. */
export type ToolChanges<
  Input extends Schema = Schema,
  Prepared = undefined,
  Older = Record<never, never>,
  Output extends Schema = Schema,
> = Partial<ToolConfig<Input, Prepared, Older, Output>> & {
  readonly handler?: ToolHandler<ToolArguments<Input>, NoInfer<Prepared>>;
};

/**
 * A registered tool, which you can change while the process runs. Clients that listen are notified (`notifications/tools/list_changed`),
 * once for changes made together. Other processes on the same store have their own tools.
 *
 * ```ts
 * const report = tasks.tool("report", { inputSchema }, buildReport);
 * report.update({ description: "Builds the report of a month" });
 * report.disable();
 * ```
 */
export interface DurableTool<
  Input extends Schema = Schema,
  Prepared = undefined,
  Older = Record<never, never>,
  Output extends Schema = Schema,
> extends ToolReference<ToolInput<Input>, StructuredContent<Output>> {
  /** False after `disable` and after `remove`. */
  readonly enabled: boolean;
  /**
   * Changes the tool, as a deploy would: running handlers continue unchanged, and tasks that start or resume later use the new options.
   * Raise `version` if tasks that have begun must not see the change. Pass a new `inputSchema` together with the `handler` that takes it.
   * Throws `configuration` for invalid options, in which case nothing changes, and for a tool that was removed.
   */
  update(changes: ToolChanges<Input, Prepared, Older, Output>): void;
  update<
    NewInput extends Schema,
    NewPrepared = undefined,
    NewOlder = Record<never, never>,
    NewOutput extends Schema = undefined,
  >(
    changes: ToolChanges<NewInput, NewPrepared, NewOlder, NewOutput> & {
      readonly inputSchema: NewInput;
      readonly handler: ToolHandler<ToolArguments<NewInput>, NoInfer<NewPrepared>>;
    },
  ): void;
  /** Lists the tool to clients again, and accepts their calls. */
  enable(): void;
  /** Stops listing the tool to clients, and refuses their calls as the SDK does. Its tasks continue, and handlers can still call it. */
  disable(): void;
  /**
   * Removes the tool from this process, and frees its name. Running handlers continue to their end. Tasks that are queued or parked wait
   * for another process that has the tool, or until you register it again; after `unregisteredGraceMs` they fail.
   */
  remove(): void;
}

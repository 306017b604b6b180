import type { CallToolResult, Icon, StandardSchemaV1, ToolAnnotations } from "@modelcontextprotocol/server";
import type { PrepareContext } from "./prepare-context.ts";
import type { RetryPolicy } from "./retry-policy.ts";
import type { TaskContext } from "./task-context.ts";

/** Whether calls of a tool become tasks. */
export type TaskMode =
  /** only as a task: callers without tasks get an error */
  | "required"
  /** as a task where the caller can take one, else answered directly */
  | "optional"
  /** never as a task */
  | "forbidden";

/**
 * What happens to a task whose attempt was lost in a crash. `resume` runs it again with its journal, `fail` fails it.
 * `auto` runs it again if its handler had not started, if it had begun a step, a question or a wait, or if its tool is
 * marked idempotent or read-only or has `retry`; otherwise it fails the task, since nobody knows what the handler had done.
 */
export type OnCrash = "auto" | "resume" | "fail";

/**
 * How clients without tasks are answered. `wait`: when the work is done. `ticket`: when the work is done, or after
 * `plainDeadlineMs` with a short reference that the model uses to fetch the result later.
 */
export type PlainPolicy = "wait" | "ticket";

/** Client capabilities that a tool's questions need. */
export type InputCapability = "elicitation" | "sampling" | "roots";

/**
 * Describes a tool. Schemas are those that the SDK takes: Standard Schemas with a JSON form, such as those of zod 4, of
 * `zod/v4` in zod 3.25, or of the SDK's `fromJsonSchema`.
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
  /** Client capabilities that the tool's questions need. Calls of clients without them are refused. */
  readonly requires?: readonly InputCapability[];
  /** Default `auto`. */
  readonly onCrash?: OnCrash;
  /**
   * Runs a handler again that threw, after a pause: with its journal, so that what succeeded in steps is not done again, and what failed there is.
   * Left out, a throw ends the task. It ends it in any case with a `NonRetryableError`, a `ProtocolError`, a mistake that
   * Holdfast reports to the handler, a throw of `prepare`, a question or a wait for an event that failed (it stays so), a cancelled task, and a result with `isError` that the handler returned itself. Such a tool
   * cannot be `forbidden`, nor have `promoteAfterMs` or `onCrash: "fail"`; with `auto` it also runs again after every crash.
   */
  readonly retry?: RetryPolicy;
  /**
   * `false`: a handler that waits for an answer, an event or a sleep always keeps its memory, and runs again as soon as a server starts. Left
   * out, it may be dropped while all that it does is wait, and then runs again with its journal when something has come. So
   * `false` is for handlers that do something of their own beside a wait, outside of steps: a timer, a request, a listener of `signal`.
   * Has no effect with `onCrash: "fail"`, which never runs a handler again.
   */
  readonly park?: boolean;
  /**
   * Runs before there is a task, and asks the client on its call. It returns plain JSON data, which the handler finds in
   * `task.prepared`. What it throws answers the call as if the handler had thrown it, and no task is made. Nothing is
   * stored between its questions: it starts again with each answer, so it should only read and ask. Before protocol
   * 2026-07-28 it runs as the first part of the task, or of the direct call.
   */
  readonly prepare?: Prepare<ToolArguments<Input>, Prepared>;
  /**
   * How long a call runs directly, in milliseconds, before it becomes a task. It becomes one earlier at its first step,
   * question or wait. Left out, every call of a client with tasks is a task from the start; so is a call with an
   * idempotency key. Has no effect in protocol 2025-11-25, where the client chooses.
   */
  readonly promoteAfterMs?: number;
  /**
   * A text for the model that clients of protocol 2025-11-25 get with the created task: what the model can say or do while
   * the task runs. Must not be empty.
   */
  readonly immediateResponse?: string;
  /** Overrides the server's `plain` for an optional tool. Default `wait` for one with an output schema, if that is left out too. */
  readonly plain?: PlainPolicy;
  /** Overrides the server's `plainDeadlineMs`, in milliseconds. */
  readonly plainDeadlineMs?: number;
  /**
   * Whether the same call of the same caller without tasks, made again before its result was handed out, is the call that
   * was made before. Left out, it is where nobody waits for that call any more, so that a call that was lost runs once; for a
   * tool that is marked idempotent or read-only always. `true`: always. `false`: never, however the calls come.
   */
  readonly joinCalls?: boolean;
  /**
   * How many of its tasks run at a time, in all processes that share the store together; further ones wait for their turn. A task
   * counts from its start to its end, but not while it waits for an answer or a timer for longer than a second. Left out, only the
   * server's `concurrency` bounds them. Such a tool cannot be `forbidden`, nor have `promoteAfterMs`: runs without a task are not counted.
   */
  readonly concurrency?: number;
  /**
   * Tasks that wait to be started: those of a tool with a higher number come before all of a tool with a lower one, however long
   * these wait. A whole number, which may be below 0. Default 0.
   */
  readonly priority?: number;
  /** Overrides the server's `ttlMs`: the life of a task, its result included, in milliseconds from its creation. */
  readonly ttlMs?: number | null;
  /** Overrides the server's `pollIntervalMs`. */
  readonly pollIntervalMs?: number;
  /** Overrides the server's `maxRunMs`. */
  readonly maxRunMs?: number;
  /**
   * How long a handler may work at a stretch, in milliseconds: from its start, and again from each wait on, until all that goes on in it
   * waits for an answer, an event or a sleep. The time in which the store fails does not count. Then its signal aborts, and the attempt ends with `attempt_timeout`, whether or not the handler ends:
   * one that goes on for `cancelGraceMs` more counts as leaked, unless its tool is `forbidden`. Work outside of steps counts again where the handler runs again. Left
   * out: without end.
   */
  readonly timeoutMs?: number;
  /** Overrides the server's `inputTimeoutMs`. */
  readonly inputTimeoutMs?: number | null;
  /**
   * The version of the tool's code, a whole number from 1 on; default 1. Raise it with a change of the handler that tasks
   * which already run must not see. A task keeps the version that the tool has at its first start: its handler is the one in `olderVersions`,
   * or else this one, which asks `task.version`. A process leaves tasks of a higher version than its own to newer ones.
   */
  readonly version?: number;
  /**
   * Handlers for tasks that began under earlier versions, by those versions, for as long as such tasks may run.
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

/** An earlier version of a tool, for the tasks that began under it. All that is not named here is as it is in the tool now. */
export interface OlderVersion<Args = unknown> {
  /** That of the version. Left out, the handler gets the arguments as they were sent. */
  readonly inputSchema?: StandardSchemaV1<unknown, Args>;
  /** Left out, the structured content of results is not checked. */
  readonly outputSchema?: StandardSchemaV1;
  /** For tasks whose `prepare` has not ended: that of the version. */
  readonly prepare?: Prepare<KnownArguments<Args>, unknown>;
  readonly handler: ToolHandler<KnownArguments<Args>, unknown>;
}

/** Without a schema nothing is known of arguments but that they have names. */
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
  /** What the handler returns is no tool's result, and kept as it is. */
  readonly raw?: true;
}

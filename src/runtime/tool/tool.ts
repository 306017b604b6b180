import type { CallToolResult, Icon, StandardSchemaV1, ToolAnnotations } from "@modelcontextprotocol/server";
import type { PrepareContext } from "./prepare-context.ts";
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
 * What happens to a task whose attempt was lost in a crash. `auto`: an attempt that never began runs; a tool
 * marked idempotent or read-only runs again; an attempt that began a step, input or sleep resumes; anything else
 * fails, since nobody knows what it had done.
 */
export type OnCrash = "auto" | "resume" | "fail";

/**
 * How callers are answered whose client has no tasks. `wait`: when the work is done. `ticket`: then too, but after a while
 * with a reference, by which the model comes back for the result.
 */
export type PlainPolicy = "wait" | "ticket";

/** Client capabilities that a tool's questions need. */
export type InputCapability = "elicitation" | "sampling" | "roots";

/** A tool as authors describe it. The schemas are any that the SDK takes: Standard Schemas with a
 * JSON form, such as those of zod 4, of `zod/v4` in zod 3.25, or of the SDK's `fromJsonSchema`. */
export interface ToolConfig<
  Input extends StandardSchemaV1 | undefined = StandardSchemaV1 | undefined,
  Prepared = undefined,
> {
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: Input;
  readonly outputSchema?: StandardSchemaV1;
  readonly annotations?: ToolAnnotations;
  readonly icons?: Icon[];
  readonly _meta?: Record<string, unknown>;
  /** Default `optional`. */
  readonly task?: TaskMode;
  /** Capabilities without which no call is accepted, as its questions could not be asked. */
  readonly requires?: readonly InputCapability[];
  /** Default `auto`. */
  readonly onCrash?: OnCrash;
  /**
   * Runs before there is a task, and asks the client on its call. What it returns, plain JSON data, is kept with
   * the task: the handler finds it in `task.prepared`. What it throws answers the call as if the handler had thrown it,
   * and there is no task. It keeps nothing and begins anew with each answer, so it should only read and ask. Clients of
   * protocols before 2026-07-28 have no rounds: for them it is the first part of the task, or of the direct call.
   */
  readonly prepare?: Prepare<ToolArguments<Input>, Prepared>;
  /**
   * Run such a call directly at first, in ms: it becomes a task, where the caller can take one, when it still runs
   * after that time, or at its first step, question or sleep. Without it every such call is a task from the start, and
   * so is a call with an idempotency key, which has to be found again. Clients of 2025-11-25 choose themselves.
   */
  readonly promoteAfterMs?: number;
  /**
   * A text for the model, which clients of protocol 2025-11-25 get with the created task: what it can tell or do while the
   * task runs. Not empty.
   */
  readonly immediateResponse?: string;
  /** Instead of the server's `plain`, for an optional tool. */
  readonly plain?: PlainPolicy;
  /** Instead of the server's `plainDeadlineMs`. */
  readonly plainDeadlineMs?: number;
  /**
   * Whether the same call of the same caller without tasks, made again before its result was handed out, is the call that
   * was made before; default true. False for a tool that is meant to run twice when it is called twice.
   */
  readonly joinCalls?: boolean;
  /** Instead of the server's ttl. */
  readonly ttlMs?: number | null;
  /** Instead of the server's poll interval. */
  readonly pollIntervalMs?: number;
  /** Instead of the server's limit on tasks without ttl. */
  readonly maxRunMs?: number;
  /** Instead of the server's limit on how long a question waits. */
  readonly inputTimeoutMs?: number | null;
}

/** Arguments as the handler gets them: validated, with the schema's defaults and transforms. */
export type ToolArguments<Input> = Input extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Input>
  : Record<string, unknown>;

export type Prepare<Args, Prepared> = (args: Args, ask: PrepareContext) => Prepared | Promise<Prepared>;

export type ToolHandler<Args, Prepared = undefined> = (
  args: Args,
  task: TaskContext<Prepared>,
) => CallToolResult | Promise<CallToolResult>;

/** A registered tool. */
export interface Tool extends Omit<ToolConfig, "prepare"> {
  readonly name: string;
  readonly task: TaskMode;
  readonly requires: readonly InputCapability[];
  readonly onCrash: OnCrash;
  readonly prepare?: Prepare<never, unknown>;
  readonly handler: ToolHandler<never, never>;
  /** What the handler returns is no tool's result, and kept as it is. */
  readonly raw?: true;
}

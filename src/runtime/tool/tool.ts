import type { Read } from "../../options/options.ts";
import type { ToolOptions, InputCapability, OnCrash, TaskMode } from "./tool-options.ts";
import type { StandardSchemaV1 } from "@modelcontextprotocol/server";
import type { PrepareContext } from "./received-request.ts";
import type { TaskContext } from "./task-context.ts";
import type { ToolReference } from "./called-tool.ts";
import type { EventInput, EventName, EventSchemas, SendOptions } from "./declared-events.ts";
import type { HandlerReturn, ReturnCheck } from "./handler-return.ts";
import type { WorkerInput, WorkerOutput } from "../threads/worker-options.ts";
import type { StructuredContent, ToolArguments, ToolInput, ToolSchema } from "./schema.ts";

type Schema = ToolSchema | undefined;

/**
 * Describes a tool. Schemas are those that the SDK takes: Standard Schemas with a JSON form, such as those of zod 4, of `zod/v4` in zod
 * 3.25, or of the SDK's `fromJsonSchema`. An object of zod's can also be given by its fields: `inputSchema: { month: z.string() }`.
 */
export interface ToolConfig<
  Input extends Schema = Schema,
  Prepared = undefined,
  Older = Record<never, never>,
  Output extends Schema = Schema,
  Declared extends EventSchemas | undefined = EventSchemas | undefined,
> extends ToolOptions {
  readonly inputSchema?: Input;
  readonly outputSchema?: Output;
  readonly events?: Declared;
  /**
   * Runs before the task exists, and can ask the client during its call. Returns what a step may return, which the handler finds in
   * `task.prepared`. If it throws, the call is answered as if the handler had thrown, and no task is created. Nothing is stored between its
   * questions: it starts again with each answer, so it should only read and ask. Before protocol 2026-07-28 it runs as the first part of
   * the task, or of the direct call.
   */
  readonly prepare?: Prepare<ToolArguments<Input>, Prepared>;
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

/** Runs before there is a task: it can ask the caller, and refuses the call by throwing. The handler gets what it returns. */
export type Prepare<Args, Prepared> = (args: Args, ask: PrepareContext) => Prepared | Promise<Prepared>;

/** A handler of a tool, which has its output schema or none (`Output`). */
export type ToolHandler<
  Args,
  Prepared = undefined,
  Output extends Schema = undefined,
  Declared extends EventSchemas | undefined = undefined,
> = (
  args: Args,
  task: TaskContext<Prepared, Declared>,
) => HandlerReturn<Output> | Promise<HandlerReturn<Output>>;

/** A handler that returns what it may: otherwise no function has this type, whose message says what is wrong. */
export type CheckedHandler<
  Args,
  Prepared,
  Output extends Schema,
  Returned,
  Declared extends EventSchemas | undefined = undefined,
> = ((args: Args, task: TaskContext<Prepared, Declared>) => Returned | Promise<Returned>) &
  ReturnCheck<Returned, Output>;

/** A function on a thread that takes the arguments of a tool, and returns what a handler may: otherwise the message says what is wrong. */
export type FitsTool<Input extends Schema, Output extends Schema, Exports, Name> = unknown extends Exports
  ? unknown
  : ToolArguments<Input> extends WorkerInput<Exports, Name>
    ? WorkerOutput<Exports, Name> extends HandlerReturn<Output>
      ? unknown
      : { readonly "the function does not return a result of this tool": never }
    : { readonly "the function does not take the arguments of this tool": never };

/** A registered tool, or an earlier version of one. */
export interface Tool extends Read<
  Omit<ToolConfig, "inputSchema" | "outputSchema" | "prepare" | "olderVersions">
> {
  readonly name: string;
  readonly inputSchema?: StandardSchemaV1;
  readonly outputSchema?: StandardSchemaV1;
  readonly version: number;
  readonly olderVersions: ReadonlyMap<number, Tool>;
  readonly task: TaskMode;
  readonly requires: readonly InputCapability[];
  readonly onCrash: OnCrash;
  /** Left out if its author has said what a crash does to it. */
  readonly isUndecided?: true;
  readonly prepare?: Prepare<never, unknown>;
  readonly handler: (args: never, task: TaskContext<never>) => unknown;
  /** The handler's return value is not a tool result, and is stored as it is. */
  readonly raw?: true;
}

/** Receives faults that no caller sees. */
export type Report = (error: unknown) => void;

/** What an author's `retry.on` says about an error. If it throws or returns a promise, the answer is no, and that is reported. */
export function ruleAllows(rule: (error: unknown) => boolean, error: unknown, report: Report): boolean {
  return ruleSays(rule, error, report) !== false;
}

/** The same for a step's `retryIf`, which may say after how many milliseconds. */
export function ruleSays(
  rule: (error: unknown) => boolean | number,
  error: unknown,
  report: Report,
): boolean | number {
  try {
    const answer: unknown = rule(error);
    if (typeof answer === "number" && answer > 0 && Number.isFinite(answer)) return answer;
    if (!(answer instanceof Promise)) return Boolean(answer);
    answer.catch(() => undefined);
    throw new TypeError(
      "A function that decides about retries must return true, false or a number, not a promise.",
    );
  } catch (thrown) {
    report(thrown);
    return false;
  }
}

/** Changes to a registered tool. Options that you leave out stay as they are. */
export type ToolChanges<
  Input extends Schema = Schema,
  Prepared = undefined,
  Older = Record<never, never>,
  Output extends Schema = Schema,
  Declared extends EventSchemas | undefined = EventSchemas | undefined,
> = Partial<ToolConfig<Input, Prepared, Older, Output, Declared>> & {
  readonly handler?: ToolHandler<ToolArguments<Input>, NoInfer<Prepared>, NoInfer<Output>, NoInfer<Declared>>;
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
  Declared extends EventSchemas | undefined = undefined,
> extends ToolReference<ToolInput<Input>, StructuredContent<Output>> {
  /** False after `disable` and after `remove`. */
  readonly enabled: boolean;
  /**
   * Changes the tool, as a deploy would: running handlers continue unchanged, and tasks that start or resume later use the new options.
   * Raise `version` if tasks that have begun must not see the change. Pass a new `inputSchema` together with the `handler` that takes it.
   * Throws `configuration` for invalid options, in which case nothing changes, and for a tool that was removed.
   */
  update(changes: ToolChanges<Input, Prepared, Older, Output, Declared>): void;
  update<
    NewInput extends Schema,
    NewPrepared = undefined,
    NewOlder = Record<never, never>,
    NewOutput extends Schema = undefined,
  >(
    changes: ToolChanges<NewInput, NewPrepared, NewOlder, NewOutput> & {
      readonly inputSchema: NewInput;
      readonly handler: ToolHandler<ToolArguments<NewInput>, NoInfer<NewPrepared>, NoInfer<NewOutput>>;
    },
  ): void;
  /**
   * Sends an event to one of its tasks, as `tasks.sendEvent` does, with the names and values that its `events` declare.
   *
   * ```ts
   * await publish.sendEvent(taskId, "approved", { by: "ann" });
   * ```
   */
  sendEvent<Name extends EventName<Declared>>(
    id: string,
    name: Name,
    value: EventInput<Declared, Name>,
    options?: SendOptions,
  ): Promise<boolean>;
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

/** Whether a tool says of itself that it may run twice for one call. */
export function isRepeatable({
  annotations,
}: {
  readonly annotations?: ToolConfig["annotations"] | undefined;
}): boolean {
  return annotations?.idempotentHint === true || annotations?.readOnlyHint === true;
}

/** Whether the author of a tool has said what a crash does to a handler that has no entry in the journal yet. */
export function saysWhatCrashDoes({
  onCrash,
  retry,
  annotations,
}: Pick<ToolConfig, "onCrash" | "retry" | "annotations">): boolean {
  return onCrash !== undefined || retry !== undefined || isRepeatable({ annotations });
}

/** How long a handler works without an entry until that is worth a word (ms): what is shorter is hardly ever hit. */
export const longWithoutEntryMs = 10_000;

/** Says what a crash does, and how to choose. */
export function crashWarning(name: string): string {
  return `The handler of tool "${name}" worked for more than ${longWithoutEntryMs / 1_000} seconds without a step. If the server stops or dies meanwhile, its task fails: nobody knows what the handler has done. Put what it does into steps (task.step), and it goes on after the last of them. To run it again from the top, set onCrash: "resume", or mark the tool with idempotentHint or readOnlyHint. To keep it so, set onCrash: "auto".`;
}

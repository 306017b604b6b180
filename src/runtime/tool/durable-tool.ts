import type { StandardSchemaV1 } from "@modelcontextprotocol/server";
import type { StructuredContent, ToolInput, ToolReference } from "./tool-reference.ts";
import type { ToolArguments, ToolConfig, ToolHandler } from "./tool.ts";

type Schema = StandardSchemaV1 | undefined;

/** What of a registered tool is to be different: what is left out stays as it is. */
export type ToolChanges<
  Input extends Schema = Schema,
  Prepared = undefined,
  Older = Record<never, never>,
  Output extends Schema = Schema,
> = Partial<ToolConfig<Input, Prepared, Older, Output>> & {
  readonly handler?: ToolHandler<ToolArguments<Input>, NoInfer<Prepared>>;
};

/**
 * A tool that was registered, which can be changed as long as the process runs. Clients that listen hear of it
 * (`notifications/tools/list_changed`), one time for changes that come together. Other processes on the same store have tools of their own.
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
   * Changes what the tool is, as a deploy would: handlers that run go on as they began, and tasks that begin or go on from their journal later
   * have the new ones (raise `version` where those that have begun must not). With another `inputSchema` comes the `handler` that
   * takes it. Throws `configuration` for wrong options, with nothing changed, and for a tool that was removed.
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
  /** Lists the tool to clients again, and takes their calls. */
  enable(): void;
  /** Lists the tool to clients no more, and refuses their calls as the SDK does. Its tasks go on, and handlers can still call it. */
  disable(): void;
  /**
   * The tool is gone from this process, and its name free. Handlers that run go on to their end. Tasks that are queued or parked wait for
   * another process with the tool, or for it to be registered again; after `unregisteredGraceMs` they fail.
   */
  remove(): void;
}

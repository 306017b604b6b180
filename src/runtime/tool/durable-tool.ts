import type { StandardSchemaV1 } from "@modelcontextprotocol/server";
import type { StructuredContent, ToolInput, ToolReference } from "./tool-reference.ts";
import type { ToolArguments, ToolConfig, ToolHandler } from "./tool.ts";

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

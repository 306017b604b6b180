import type {
  CallToolResult,
  Icon,
  InputRequiredResult,
  RegisteredTool,
  ServerContext,
  StandardSchemaWithJSON,
  ToolAnnotations,
} from "@modelcontextprotocol/server";
import type { ObjectOf, Shape } from "../../runtime/tool/schema.ts";
import type { TaskContext } from "../../runtime/tool/task-context.ts";
import { choice, tableOf } from "../../options/options.ts";
import { DeclaredDurableToolOptions } from "../../runtime/tool/tool-options.ts";

class DeclaredTaskSettings extends DeclaredDurableToolOptions {
  /** Whether calls without a task are answered too. Default `optional`. */
  readonly mode?: "optional" | "required" = choice(["optional", "required"], { default: "optional" });
}

/** `task` in a tool's config, as an object: `mode`, and options of `tasks.tool`. */
export interface TaskSettings extends DeclaredTaskSettings {}

export const taskSettings = tableOf<TaskSettings>(DeclaredTaskSettings);

/** What the handler of a durable tool gets: the SDK's context, and the task. */
export type DurableContext = ServerContext & {
  /** Steps, questions under your own keys, sleeps, events and calls of other tools. */
  readonly task: TaskContext;
};

type Task = TaskSettings | "optional" | "required";

/** Rejects unknown options: TypeScript does not check them in an inferred type. */
type Only<Given> = Given extends string
  ? Given
  : Exclude<keyof Given, keyof TaskSettings> extends never
    ? Given
    : never;

/**
 * Generic, so that it also matches options held in a constant. Otherwise TypeScript takes the handler's context from the SDK's
 * `registerTool`.
 */
interface DurableConfig<Given extends Task> {
  /** Makes the tool durable, inside the function that you give to `durable`. */
  readonly task: Given & Only<Given>;
  readonly title?: string;
  readonly description?: string;
  readonly annotations?: ToolAnnotations;
  readonly icons?: Icon[];
  readonly _meta?: Record<string, unknown>;
}

type Returned = CallToolResult | InputRequiredResult | Promise<CallToolResult | InputRequiredResult>;

type DurableCallback<Input> = Input extends StandardSchemaWithJSON
  ? (args: StandardSchemaWithJSON.InferOutput<Input>, ctx: DurableContext) => Returned
  : (ctx: DurableContext) => Returned;

declare module "@modelcontextprotocol/server" {
  interface McpServer {
    /**
     * Registers a durable tool: one with `task` in its config, inside the function that you give to `durable`. The tool returned in the
     * first call of that function changes the tool for all clients. Throws `configuration` outside such a function, and for invalid
     * options.
     */
    registerTool<
      Output extends StandardSchemaWithJSON,
      Input extends StandardSchemaWithJSON | undefined = undefined,
      Given extends Task = Task,
    >(
      name: string,
      config: DurableConfig<Given> & { readonly inputSchema?: Input; readonly outputSchema?: Output },
      handler: DurableCallback<Input>,
    ): RegisteredTool;
    /** The same with a schema by its fields: `inputSchema: { month: z.string() }`. */
    registerTool<Fields extends Shape, Given extends Task = Task>(
      name: string,
      config: DurableConfig<Given> & {
        readonly inputSchema: Fields;
        readonly outputSchema?: Shape | StandardSchemaWithJSON;
      },
      handler: (args: ObjectOf<Fields, "output">, ctx: DurableContext) => Returned,
    ): RegisteredTool;
  }
}

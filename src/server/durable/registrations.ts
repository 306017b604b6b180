import { AsyncLocalStorage } from "node:async_hooks";
import {
  type CallToolResult,
  type Icon,
  type InputRequiredResult,
  type McpRequestContext,
  McpServer,
  type RegisteredTool,
  type ServerContext,
  type StandardSchemaWithJSON,
  type ToolAnnotations,
} from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import type { ObjectOf, Shape } from "../../runtime/tool/schema.ts";
import type { TaskContext } from "../../runtime/tool/task-context.ts";
import { assertOptions, choice, shown, tableOf } from "../../options/options.ts";
import { DeclaredDurableToolOptions } from "../../runtime/tool/tool-options.ts";

/** What `registerTool` of a server is given. In JavaScript that may be anything. */
export interface Registration {
  readonly name: string;
  readonly config: { readonly task: unknown } & Readonly<Record<string, unknown>>;
  readonly handler: unknown;
}

/** What takes the tools that have `task` in their configs, while a factory runs. */
export interface Registrar {
  register(registration: Registration): RegisteredTool;
}

type Registrars = AsyncLocalStorage<Registrar>;

/** Under which the function that takes the place of the SDK's has its registrars, for other copies of this module to find. */
const marker = Symbol.for("holdfast.registrars");

/**
 * Runs an author's factory; the tools with `task` in their configs that it registers meanwhile go to `registrar`, and never to the SDK,
 * which would drop `task` without a word.
 */
export function registering<T>(registrar: Registrar, factory: () => T): T {
  return registrars().run(registrar, factory);
}

/** Registers a tool as the SDK does, also outside of `durable`. */
export function registerPlainly(server: McpServer, { name, config, handler }: Registration): RegisteredTool {
  const { task: _, ...others } = config;
  return Reflect.apply(functionOf(server), server, [name, others, handler]) as RegisteredTool;
}

/** From now on the SDK's servers refuse what they would not understand: tools with `task`, outside of a factory that was given to `durable`. */
export function registrars(): Registrars {
  const { prototype } = McpServer;
  const original = functionOf(prototype);
  const found: unknown = Reflect.get(original, marker);
  if (found instanceof AsyncLocalStorage) return found as Registrars;
  const made: Registrars = new AsyncLocalStorage();
  function registerTool(this: McpServer, name: string, config: unknown, handler: unknown): unknown {
    if (!hasTask(config)) return Reflect.apply(original, this, [name, config, handler]);
    const registrar = made.getStore();
    if (registrar === undefined) throw outside(name);
    return registrar.register({ name, config, handler });
  }
  Object.defineProperty(registerTool, marker, { value: made });
  Object.defineProperty(prototype, "registerTool", {
    value: registerTool,
    configurable: true,
    writable: true,
  });
  return made;
}

/** The function itself, to call on another object. */
function functionOf(server: McpServer): (...args: readonly unknown[]) => unknown {
  const found: unknown = Reflect.get(server, "registerTool");
  if (typeof found === "function") return found as ReturnType<typeof functionOf>;
  throw new HoldfastError("internal", "The SDK's McpServer has no registerTool.");
}

function hasTask(config: unknown): config is Registration["config"] {
  return typeof config === "object" && config !== null && "task" in config && config.task !== undefined;
}

function outside(name: string): HoldfastError {
  return new HoldfastError(
    "configuration",
    `Tool "${name}" has task in its config, but its server was not created by a function given to durable(). Create it like this: durable(() => { const server = new McpServer(…); server.registerTool("${name}", …); return server; }, { store }).`,
  );
}

class DeclaredTaskSettings extends DeclaredDurableToolOptions {
  /** Whether calls without a task are answered too. Default `optional`. */
  readonly mode?: "optional" | "required" = choice(["optional", "required"], { default: "optional" });
}

/** `task` in a tool's config, as an object: `mode`, and options of `tasks.tool`. */
export interface TaskSettings extends DeclaredTaskSettings {}

const taskSettings = tableOf<TaskSettings>(DeclaredTaskSettings);

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

/** How the author's code has left a tool when the factory ended. */
export interface LeftTool {
  isEnabled: boolean;
  isRemoved: boolean;
}

/** One run of an author's factory. */
export class FactoryRun {
  /** True for the first run, whose tools are those of the process. */
  readonly isFirst: boolean;
  /** Whether its server is for one client of many; on a pipe, there is only one. */
  readonly isForOneOfMany: boolean;
  readonly #tools = new Map<string, LeftTool>();
  #isOver = false;

  constructor(isFirst: boolean, { requestInfo }: McpRequestContext) {
    this.isFirst = isFirst;
    this.isForOneOfMany = requestInfo !== undefined;
  }

  /** Its server is made. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Throws `configuration` for a tool that is registered after the end, or twice. */
  add(name: string): LeftTool {
    if (this.#isOver) throw wrongTool(name, tooLate);
    if (this.#tools.has(name)) throw wrongTool(name, "is registered twice");
    const left = { isEnabled: true, isRemoved: false };
    this.#tools.set(name, left);
    return left;
  }

  /** A server for a client is to leave the tools as the first run has left them: throws `configuration` otherwise. */
  end(first: FactoryRun): void {
    this.#isOver = true;
    for (const [name, left] of first.#tools) {
      const now = this.#tools.get(name);
      if (now === undefined) throw wrongTool(name, onlyFirst);
      if (now.isEnabled !== left.isEnabled || now.isRemoved !== left.isRemoved)
        throw wrongTool(name, changedForOne);
    }
  }
}

const tooLate =
  "was registered after the function given to durable() had returned: await everything that registers tools";

const onlyFirst =
  "was not registered for this client. Tools with task belong to the process, and any client can call them: register all of them each time the function given to durable() is called, and use authenticate to decide who may call";

const changedForOne =
  "was enabled, disabled or removed for this client only. Tools with task belong to the process, and are the same for all clients: do it each time the function given to durable() is called or never, and use authenticate to decide who may call";

/** The value of `task` in a tool's config. JavaScript callers can pass anything: throws `configuration`. */
export function settingsOf(name: string, task: unknown): TaskSettings {
  if (typeof task === "object" && task !== null && !Array.isArray(task)) {
    assertOptions(`task of tool "${name}"`, task, taskSettings);
    return task;
  }
  if (task === "optional" || task === "required") return { mode: task };
  throw wrongTool(
    name,
    `has an invalid task: use "optional", "required" or an object of options, not ${shown(task)}, or leave it out if the tool never runs as a task`,
  );
}

/** What to throw for a tool with `task` that cannot be as it is. */
export function wrongTool(name: string, problem: string): HoldfastError {
  return new HoldfastError("configuration", `Tool "${name}" ${problem}.`);
}

import { AsyncLocalStorage } from "node:async_hooks";
import { McpServer, type RegisteredTool } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";

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

import { readOptions, settingsOf } from "../../options/options.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { TaskMethod } from "../../task/record.ts";
import type { HandlerName } from "../../task/queue.ts";
import type { Role } from "../options.ts";
import {
  type DurableTool,
  type Tool,
  type ToolConfig,
  type Prepare,
  crashWarning,
  saysWhatCrashDoes,
} from "./tool.ts";
import type { EventSchemas, SendOptions } from "./declared-events.ts";
import { objectSchema, type ToolArguments, type ToolSchema } from "./schema.ts";
import type { TaskContext } from "./task-context.ts";
import { assertToolConfig, assertToolParts, olderVersionsOf, type AnyOlderVersion } from "./tool-config.ts";
import { toolOptions, type ToolOptions } from "./tool-options.ts";
import { threadHandler, type HandlerModule } from "../threads/worker-options.ts";

/** A request other than a tools/call, which the server's own handlers answer. */
export type OtherRequest = "resources/read" | "prompts/get";

type SendEvent = (id: string, name: string, value: unknown, options?: SendOptions) => Promise<boolean>;

/** A registered tool and its parts. */
interface Entry extends ToolParts {
  readonly tool: Tool;
  readonly enabled: boolean;
}

/**
 * The tools of a process. They belong to the process and not to a connection, so that work resumes without connections. Tools can be added,
 * changed and removed at any time.
 */
export class Registry {
  readonly #entries = new Map<string, Entry>();
  readonly #others = new Map<TaskMethod, Tool>();
  readonly #listeners = new Set<() => void>();
  /** The tools of which it was said what a crash does to them. */
  readonly #warned = new Set<string>();
  readonly #checks: ((tool: Tool) => void)[] = [];
  #send: SendEvent | undefined;

  add<
    Input extends ToolSchema | undefined = undefined,
    Prepared = undefined,
    Older = Record<never, never>,
    Output extends ToolSchema | undefined = undefined,
    Declared extends EventSchemas | undefined = undefined,
  >(
    name: string,
    config: ToolConfig<Input, Prepared, Older, Output, Declared>,
    handler?: (
      args: ToolArguments<Input>,
      task: TaskContext<NoInfer<Prepared>, NoInfer<Declared>>,
    ) => unknown,
  ): DurableTool<Input, Prepared, Older, Output, Declared> {
    if (this.#entries.has(name))
      throw new HoldfastError("configuration", `Tool "${name}" is registered twice.`);
    return this.#reference(name, this.#put(name, { config, ...(handler && { handler }) }, true));
  }

  /** A handler for requests other than calls; its return value is the whole result. */
  addOther(
    method: OtherRequest,
    handler: (params: Record<string, unknown>, task: TaskContext) => Promise<object>,
  ): void {
    const raw = { raw: true, requires: [], task: "required", onCrash: "resume", version: 1 } as const;
    const olderVersions = new Map<number, Tool>();
    this.#others.set(method, { ...raw, olderVersions, name: method, handler });
  }

  /** Calls `listener` synchronously after each change of the tools. Returns a function that stops this. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Lets `check` refuse a tool, by throwing, before it is added; also those that are there. */
  checkEach(check: (tool: Tool) => void): void {
    for (const tool of this.all()) check(tool);
    this.#checks.push(check);
  }

  /** How the events of its tools are sent. */
  sendBy(send: SendEvent): void {
    this.#send = send;
  }

  /** The handler for a task; undefined if there is none any more. */
  handlerOf({ method, tool }: { readonly method: TaskMethod; readonly tool: string }): Tool | undefined {
    return method === "tools/call" ? this.#entries.get(tool)?.tool : this.#others.get(method);
  }

  /**
   * The handlers that a process with these roles runs. Requests other than calls are answered where they came from, whatever its roles.
   * Without roles: all that it has.
   */
  handlers(roles: readonly Role[] = ["work"]): readonly HandlerName[] {
    const tools = roles.includes("work") ? [...this.#entries.keys()] : [];
    return [
      ...tools.map((tool) => ({ method: "tools/call" as const, tool })),
      ...[...this.#others].map(([method, { name }]) => ({ method, tool: name })),
    ];
  }

  /** The tool that clients call by a name. */
  get(name: string): Tool | undefined {
    const entry = this.#entries.get(name);
    return entry?.enabled === true ? entry.tool : undefined;
  }

  isEnabled({ name }: Tool): boolean {
    return this.get(name) !== undefined;
  }

  /** The handler of a tool has worked for long without an entry in its journal: says once what a crash would have done, unless its author has. */
  workedWithoutEntry({ name, isUndecided }: Tool): void {
    if (isUndecided !== true || this.#warned.has(name)) return;
    this.#warned.add(name);
    process.emitWarning(crashWarning(name), "HoldfastWarning");
  }

  /** Including disabled ones. */
  all(): readonly Tool[] {
    return [...this.#entries.values()].map(({ tool }) => tool);
  }

  #put(name: string, parts: ToolParts, enabled: boolean): Entry {
    const tool = makeTool(name, parts);
    for (const check of this.#checks) check(tool);
    return this.#set(name, { ...parts, tool, enabled });
  }

  #set(name: string, entry: Entry): Entry {
    this.#entries.set(name, entry);
    this.#changed();
    return entry;
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** For the tool of `registered`, and not for one registered later under the same name. */
  #reference(name: string, registered: Entry) {
    let entry: Entry | undefined = registered;
    const current = (): Entry => {
      if (entry !== undefined) return entry;
      throw new HoldfastError(
        "configuration",
        `Tool "${name}" was removed: register it again with tasks.tool("${name}", …).`,
      );
    };
    const setEnabled = (enabled: boolean): void => {
      const before = current();
      if (before.enabled !== enabled) entry = this.#set(name, { ...before, enabled });
    };
    return {
      name,
      get enabled() {
        return entry?.enabled === true;
      },
      update: (changes: PartsChanges) => {
        const before = current();
        entry = this.#put(name, changedParts(name, before, changes), before.enabled);
      },
      sendEvent: async (id: string, event: string, value: unknown, options?: SendOptions) => {
        if (this.#send !== undefined) return this.#send(id, event, value, options);
        throw new HoldfastError("configuration", `Tool "${name}" belongs to no server that sends events.`);
      },
      enable: () => setEnabled(true),
      disable: () => setEnabled(false),
      remove: () => {
        if (entry === undefined) return;
        entry = undefined;
        this.#entries.delete(name);
        this.#changed();
      },
    };
  }
}

/** A tool as its author describes it, with any arguments. */
interface ToolParts {
  readonly config: Omit<ToolConfig, "prepare" | "olderVersions"> & {
    readonly prepare?: Prepare<never, unknown>;
    readonly olderVersions?: { readonly [version: string]: AnyOlderVersion };
    readonly worker?: HandlerModule;
  };
  /** Left out for a tool whose handler runs on a thread. */
  readonly handler?: (args: never, task: TaskContext<never>) => unknown;
}

/** The tool with its defaults. Throws `configuration` for an invalid one. */
function makeTool(name: string, { config, handler }: ToolParts): Tool {
  assertToolParts(name, config, handler);
  assertToolConfig(name, config);
  const { task, onCrash, version } = settingsOf<Pick<ToolOptions, "task" | "onCrash" | "version">>(
    toolOptions,
    config,
  );
  const { inputSchema, outputSchema, worker, ...others } = readOptions(toolOptions, config);
  const tool = {
    ...others,
    ...(inputSchema !== undefined && { inputSchema: objectSchema(name, inputSchema) }),
    ...(outputSchema !== undefined && { outputSchema: objectSchema(name, outputSchema) }),
    name,
    task,
    onCrash,
    ...(saysWhatCrashDoes(config) ? {} : { isUndecided: true as const }),
    version,
    requires: config.requires ?? [],
    handler: handler ?? handlerOnThread(worker),
  };
  return { ...tool, olderVersions: olderVersionsOf(tool, config.olderVersions) };
}

function handlerOnThread(worker: HandlerModule | undefined): Tool["handler"] {
  if (worker === undefined) throw new HoldfastError("internal", "A tool without a handler was not refused.");
  return threadHandler(worker);
}

/** The argument of a tool's `update`. */
type PartsChanges = Partial<ToolParts["config"]> & Partial<Pick<ToolParts, "handler">>;

/** The parts of a tool after an update. Throws `configuration` for invalid changes. */
function changedParts(name: string, parts: ToolParts, changes: PartsChanges): ToolParts {
  if (typeof changes !== "object" || changes === null) {
    throw new HoldfastError(
      "configuration",
      `update of tool "${name}" needs the changes: update({ description: "…", handler: async (args, task) => … }).`,
    );
  }
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  const { handler = parts.handler, ...options }: PartsChanges = Object.fromEntries(given);
  return { config: { ...parts.config, ...options }, ...(handler && { handler }) };
}

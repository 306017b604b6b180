import type { StandardSchemaV1 } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import type { TaskMethod } from "../../task/record.ts";
import type { HandlerName } from "../../task/owner.ts";
import type { Role } from "../options.ts";
import type { DurableTool } from "./durable-tool.ts";
import { changedParts, makeTool, type PartsChanges, type ToolParts } from "./make-tool.ts";
import type { TaskContext } from "./task-context.ts";
import type { Tool, ToolArguments, ToolConfig, ToolHandler } from "./tool.ts";

/** A request of another kind than a tools/call, which the server's own handlers answer. */
export type OtherRequest = "resources/read" | "prompts/get";

/** A tool that was registered, and what it was made of. */
interface Entry extends ToolParts {
  readonly tool: Tool;
  readonly enabled: boolean;
}

/**
 * The tools of a process. It belongs to the process and not to a connection, so that work resumes with nobody
 * connected. Tools come, change and go at any time.
 */
export class Registry {
  readonly #entries = new Map<string, Entry>();
  readonly #others = new Map<TaskMethod, Tool>();
  readonly #listeners = new Set<() => void>();
  readonly #checks: ((tool: Tool) => void)[] = [];

  add<
    Input extends StandardSchemaV1 | undefined = undefined,
    Prepared = undefined,
    Older = Record<never, never>,
    Output extends StandardSchemaV1 | undefined = undefined,
  >(
    name: string,
    config: ToolConfig<Input, Prepared, Older, Output>,
    handler: ToolHandler<ToolArguments<Input>, NoInfer<Prepared>>,
  ): DurableTool<Input, Prepared, Older, Output> {
    if (this.#entries.has(name))
      throw new HoldfastError("configuration", `Tool "${name}" is registered twice.`);
    return this.#reference(name, this.#put(name, { config, handler }, true));
  }

  /** What answers requests of another kind; what `handler` returns is the whole result. */
  addOther(
    method: OtherRequest,
    handler: (params: Record<string, unknown>, task: TaskContext) => Promise<object>,
  ): void {
    const raw = { raw: true, requires: [], task: "required", onCrash: "resume", version: 1 } as const;
    const olderVersions = new Map<number, Tool>();
    this.#others.set(method, { ...raw, olderVersions, name: method, handler: handler as Tool["handler"] });
  }

  /** Calls `listener` after each change of the tools, and within it. Returns what ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Has `check` throw for tools that cannot be, before they are. */
  checkEach(check: (tool: Tool) => void): void {
    this.#checks.push(check);
  }

  /** What runs a task; undefined where nothing does any more. */
  handlerOf({ method, tool }: { readonly method: TaskMethod; readonly tool: string }): Tool | undefined {
    return method === "tools/call" ? this.#entries.get(tool)?.tool : this.#others.get(method);
  }

  /**
   * What a process of these roles runs: requests of other kinds are answered where they came from, whatever its roles are.
   * Without roles: all that it knows.
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

  /** With those that are disabled. */
  all(): readonly Tool[] {
    return [...this.#entries.values()].map(({ tool }) => tool);
  }

  #put(name: string, parts: ToolParts, enabled: boolean): Entry {
    const { config, handler } = parts;
    const tool = makeTool(name, parts);
    for (const check of this.#checks) check(tool);
    return this.#set(name, { config, handler, tool, enabled });
  }

  #set(name: string, entry: Entry): Entry {
    this.#entries.set(name, entry);
    this.#changed();
    return entry;
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** For the tool of `registered`, and not for one that is registered later under the same name. */
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

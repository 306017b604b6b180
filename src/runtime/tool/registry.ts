import type { StandardSchemaV1 } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import type { TaskMethod } from "../../task/record.ts";
import type { HandlerName } from "../../task/owner.ts";
import type { Role } from "../options.ts";
import { assertToolConfig, assertToolParts } from "./assert-tool-config.ts";
import type { TaskContext } from "./task-context.ts";
import type { StructuredContent, ToolInput, ToolReference } from "./tool-reference.ts";
import { olderVersionsOf } from "./tool-versions.ts";
import type { Tool, ToolArguments, ToolConfig, ToolHandler } from "./tool.ts";

/** A request of another kind than a tools/call, which the server's own handlers answer. */
export type OtherRequest = "resources/read" | "prompts/get";

/**
 * The tools of a process. It belongs to the process and not to a connection, so that work resumes with nobody
 * connected; hence it is complete, and sealed, before the first task runs.
 */
export class Registry {
  readonly #tools = new Map<string, Tool>();
  readonly #others = new Map<TaskMethod, Tool>();
  #sealed = false;

  add<
    Input extends StandardSchemaV1 | undefined = undefined,
    Prepared = undefined,
    Older = Record<never, never>,
    Output extends StandardSchemaV1 | undefined = undefined,
  >(
    name: string,
    config: ToolConfig<Input, Prepared, Older, Output>,
    handler: ToolHandler<ToolArguments<Input>, NoInfer<Prepared>>,
  ): ToolReference<ToolInput<Input>, StructuredContent<Output>> {
    assertToolParts(name, config, handler);
    if (this.#sealed) throw new HoldfastError("configuration", `Register tool "${name}" before the start.`);
    if (this.#tools.has(name))
      throw new HoldfastError("configuration", `Tool "${name}" is registered twice.`);
    assertToolConfig(name, config);
    const tool = {
      ...config,
      name,
      version: config.version ?? 1,
      task: config.task ?? "optional",
      requires: config.requires ?? [],
      onCrash: config.onCrash ?? "auto",
      handler,
    };
    this.#tools.set(name, { ...tool, olderVersions: olderVersionsOf(tool, config.olderVersions) });
    return { name };
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

  seal(): void {
    this.#sealed = true;
  }

  /** What runs a task; undefined where nothing does any more. */
  handlerOf({ method, tool }: { readonly method: TaskMethod; readonly tool: string }): Tool | undefined {
    return method === "tools/call" ? this.get(tool) : this.#others.get(method);
  }

  /**
   * What a process of these roles runs: requests of other kinds are answered where they came from, whatever its roles are.
   * Without roles: all that it knows.
   */
  handlers(roles: readonly Role[] = ["work"]): readonly HandlerName[] {
    const tools = roles.includes("work") ? [...this.#tools.keys()] : [];
    return [
      ...tools.map((tool) => ({ method: "tools/call" as const, tool })),
      ...[...this.#others].map(([method, { name }]) => ({ method, tool: name })),
    ];
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  all(): readonly Tool[] {
    return [...this.#tools.values()];
  }
}

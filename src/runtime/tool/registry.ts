import type { StandardSchemaV1 } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import { assertToolConfig } from "./assert-tool-config.ts";
import type { Tool, ToolArguments, ToolConfig, ToolHandler } from "./tool.ts";

/**
 * The tools of a process. It belongs to the process and not to a connection, so that work resumes with nobody
 * connected; hence it is complete, and sealed, before the first task runs.
 */
export class Registry {
  readonly #tools = new Map<string, Tool>();
  #sealed = false;

  add<Input extends StandardSchemaV1 | undefined = undefined, Prepared = undefined>(
    name: string,
    config: ToolConfig<Input, Prepared>,
    handler: ToolHandler<ToolArguments<Input>, NoInfer<Prepared>>,
  ): void {
    if (this.#sealed) throw new HoldfastError("configuration", `Register tool "${name}" before the start.`);
    if (this.#tools.has(name))
      throw new HoldfastError("configuration", `Tool "${name}" is registered twice.`);
    assertToolConfig(name, config);
    this.#tools.set(name, {
      ...config,
      name,
      task: config.task ?? "optional",
      requires: config.requires ?? [],
      onCrash: config.onCrash ?? "auto",
      handler,
    });
  }

  seal(): void {
    this.#sealed = true;
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  all(): readonly Tool[] {
    return [...this.#tools.values()];
  }
}

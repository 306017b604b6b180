import { hasHandler, type ClaimingHandler } from "../../task/queue.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { LeakedHandlers } from "../execution/leaked-handlers.ts";
import type { Services } from "../services.ts";
import type { PausedTools } from "./paused-tools.ts";
import type { Tool } from "../tool/tool.ts";

/** The tools that could start handlers at the time of a claim. One that is removed meanwhile still runs what was claimed for it. */
export class StartableTools {
  readonly handlers: readonly ClaimingHandler[];
  readonly #tools = new Map<ClaimingHandler, Tool>();

  constructor(
    { registry, options }: Pick<Services, "registry" | "options">,
    leaked: LeakedHandlers,
    paused: PausedTools,
  ) {
    for (const name of registry.handlers(options.roles)) {
      const tool = registry.handlerOf(name);
      if (tool === undefined || leaked.blocks(tool) || paused.has(tool.name)) continue;
      const { priority = 0, concurrency, version } = tool;
      this.#tools.set(
        { ...name, priority, version, ...(concurrency !== undefined && { concurrency }) },
        tool,
      );
    }
    this.handlers = [...this.#tools.keys()];
  }

  /** The tool for a claimed task. */
  of(task: TaskRecord): Tool | undefined {
    const handler = this.handlers.find((each) => hasHandler([each], task));
    return handler && this.#tools.get(handler);
  }
}

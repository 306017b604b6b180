import { HoldfastError } from "../../task/fault.ts";
import { assertToolConfig, assertToolParts } from "./assert-tool-config.ts";
import { olderVersionsOf, type AnyOlderVersion } from "./tool-versions.ts";
import type { Prepare, Tool, ToolConfig, ToolHandler } from "./tool.ts";

/** A tool as its author describes it, with any arguments. */
export interface ToolParts {
  readonly config: Omit<ToolConfig, "prepare" | "olderVersions"> & {
    readonly prepare?: Prepare<never, unknown>;
    readonly olderVersions?: { readonly [version: string]: AnyOlderVersion };
  };
  readonly handler: ToolHandler<never, never>;
}

/** The tool with its defaults. Throws `configuration` for an invalid one. */
export function makeTool(name: string, { config, handler }: ToolParts): Tool {
  assertToolParts(name, config, handler);
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
  return { ...tool, olderVersions: olderVersionsOf(tool, config.olderVersions) };
}

/** The argument of a tool's `update`. */
export type PartsChanges = Partial<ToolParts["config"]> & Partial<Pick<ToolParts, "handler">>;

/** The parts of a tool after an update. Throws `configuration` for invalid changes. */
export function changedParts(name: string, parts: ToolParts, changes: PartsChanges): ToolParts {
  if (typeof changes !== "object" || changes === null) {
    throw new HoldfastError(
      "configuration",
      `update of tool "${name}" needs what is to change: update({ description: "…", handler: async (args, task) => … }).`,
    );
  }
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  const { handler = parts.handler, ...options }: PartsChanges = Object.fromEntries(given);
  return { config: { ...parts.config, ...options }, handler };
}

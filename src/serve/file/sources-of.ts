import { dirname, resolve } from "node:path";
import { command } from "../command/command.ts";
import type { ArgvItem } from "../command/argv.ts";
import { mcpUpstream } from "../mcp/mcp-upstream.ts";
import type { McpUpstreamOptions } from "../mcp/mcp-options.ts";
import type { ToolSource } from "../source.ts";
import type { ToolSettings } from "../tool-settings.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { FileProblem, ReadFile } from "./read-tools-file.ts";
import type { ToolsFile } from "./schema.ts";

type FileTool = NonNullable<ToolsFile["tools"]>[string];

/** The sources of a file. What has not changed in the file is the same source again, which stays open. */
export class FileSources {
  readonly #folder: string;
  #known: ReadonlyMap<string, ToolSource> = new Map();

  constructor(path: string) {
    this.#folder = dirname(path);
  }

  /** What is wrong with tools is added to `problems`. */
  of({ file, placeOf }: ReadFile, problems: FileProblem[]): readonly ToolSource[] {
    const found = new Map<string, ToolSource>();
    const add = (path: readonly string[], given: object, make: () => ToolSource): void => {
      const key = JSON.stringify([path, given]);
      try {
        found.set(key, this.#known.get(key) ?? make());
      } catch (error) {
        problems.push(problemOf(error, path, given, placeOf));
      }
    };
    for (const [name, tool] of Object.entries(file.tools ?? {}))
      add(["tools", name], tool, () => this.#toolOf(name, tool));
    for (const [name, options] of Object.entries(file.mcp ?? {}))
      add(["mcp", name], options, () => mcpUpstream(name, this.#upstream(options)));
    if (problems.length === 0) this.#known = found;
    return [...found.values()];
  }

  #toolOf(name: string, tool: FileTool): ToolSource {
    const { command: given, ...settings } = tool;
    if (given === undefined)
      throw new HoldfastError(
        "configuration",
        `Tool "${name}" says nothing of what its calls do: give it command or http.`,
      );
    const { cwd = ".", ...run } = Array.isArray(given) ? { run: given } : given;
    return command(name, {
      ...(settings as ToolSettings),
      ...(run as { readonly run: readonly ArgvItem[] }),
      cwd: resolve(this.#folder, cwd),
    });
  }

  #upstream(options: Readonly<Record<string, unknown>>): McpUpstreamOptions {
    const { cwd = "." } = options;
    const isProgram = options["command"] !== undefined && typeof cwd === "string";
    return { ...options, ...(isProgram && { cwd: resolve(this.#folder, cwd) }) };
  }
}

/** Where the option is that a message names, or the tool. */
function problemOf(
  error: unknown,
  path: readonly string[],
  given: object,
  placeOf: ReadFile["placeOf"],
): FileProblem {
  const message = error instanceof Error ? error.message : String(error);
  const named = keysIn(given).find((each) =>
    new RegExp(`(?<![\\w"])${each.at(-1) ?? ""}(?!\\w)`).test(message),
  );
  return { ...placeOf([...path, ...(named ?? [])]), message };
}

/** The paths of the keys, the deepest first. */
function keysIn(value: unknown): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, each]) => [
    ...keysIn(each).map((path) => [name, ...path]),
    ...(/^\w+$/.test(name) ? [[name]] : []),
  ]);
}

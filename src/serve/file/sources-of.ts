import { dirname, resolve } from "node:path";
import { isJsonObject } from "../../generation/message.ts";
import { assertApproval, type Approval } from "../approval.ts";
import { command, type CommandSettings } from "../command/command.ts";
import { http, type HttpSettings } from "../http/http.ts";
import { mcpUpstream } from "../mcp/mcp-upstream.ts";
import type { McpUpstreamOptions } from "../mcp/mcp-options.ts";
import { openapi } from "../openapi/openapi.ts";
import type { OpenApiOptions } from "../openapi/openapi-options.ts";
import type { ToolSource } from "../source.ts";
import type { ToolSettings } from "../tool-settings.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { FileProblem, ReadFile } from "./read-tools-file.ts";
import type { ToolsFile } from "./schema.ts";

type FileTool = NonNullable<ToolsFile["tools"]>[string];

/** The sources of a file. What has not changed since the file that is served is the same source again, which stays open. */
export class FileSources {
  readonly #folder: string;
  #known: ReadonlyMap<string, ToolSource> = new Map();

  constructor(path: string) {
    this.#folder = dirname(path);
  }

  /** What is wrong with tools is added to `problems`. Call `onServed` when the sources are served. */
  of(
    { file, placeOf }: ReadFile,
    problems: FileProblem[],
  ): { readonly sources: readonly ToolSource[]; readonly onServed: () => void } {
    const found = new Map<string, ToolSource>();
    const add = (path: readonly string[], given: object, make: () => ToolSource): void => {
      const key = JSON.stringify([path, given]);
      try {
        for (const [tool, approval] of approvalsIn(path, given))
          assertApproval(`The approval of ${tool}`, approval, file.publicUrl !== undefined);
        found.set(key, this.#known.get(key) ?? make());
      } catch (error) {
        problems.push(problemOf(error, path, given, placeOf));
      }
    };
    for (const [name, tool] of Object.entries(file.tools ?? {}))
      add(["tools", name], tool, () => this.#toolOf(name, tool));
    for (const [name, options] of Object.entries(file.mcp ?? {}))
      add(["mcp", name], options, () => mcpUpstream(name, this.#upstream(options)));
    for (const [name, options] of Object.entries(file.openapi ?? {}))
      add(["openapi", name], options, () => openapi(name, this.#described(options)));
    return {
      sources: [...found.values()],
      onServed: () => {
        this.#known = found;
      },
    };
  }

  #toolOf(name: string, tool: FileTool): ToolSource {
    const { command: program, http: request, ...settings } = tool as FileTool & ToolSettings;
    if ((program === undefined) === (request === undefined))
      throw new HoldfastError(
        "configuration",
        `Tool "${name}" needs command or http, which say what its calls do: one of the two.`,
      );
    if (request !== undefined) return http(name, { ...settings, ...(request as HttpSettings) });
    const { cwd = ".", ...run } = Array.isArray(program) ? { run: program } : (program as CommandSettings);
    return command(name, { ...settings, ...run, cwd: resolve(this.#folder, cwd) });
  }

  /** A path of a document is below the folder of the file. */
  #described(options: Readonly<Record<string, unknown>>): OpenApiOptions {
    const { document } = options;
    const isPath = typeof document === "string" && !/^https?:/.test(document);
    return { ...options, ...(isPath && { document: resolve(this.#folder, document) }) } as OpenApiOptions;
  }

  #upstream(options: Readonly<Record<string, unknown>>): McpUpstreamOptions {
    const { cwd = "." } = options;
    const isProgram = options["command"] !== undefined && typeof cwd === "string";
    return { ...options, ...(isProgram && { cwd: resolve(this.#folder, cwd) }) };
  }
}

/** The approvals of a tool, or of the tools of a source, with their names for messages. */
function approvalsIn(
  path: readonly string[],
  given: { readonly approval?: unknown; readonly tools?: unknown; readonly operations?: unknown },
): readonly (readonly [string, Approval])[] {
  const { approval, tools = {}, operations = {} } = given;
  if (isJsonObject(approval)) return [[`tool "${path.at(-1) ?? ""}"`, approval as unknown as Approval]];
  return Object.entries({ ...(tools as object), ...(operations as object) }).flatMap(
    ([name, own]: [string, unknown]) => (isJsonObject(own) ? approvalsIn([name], own) : []),
  );
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

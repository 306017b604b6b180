import type { StandardSchemaV1 } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import { versionOf } from "../../task/tool-version.ts";
import type { OlderVersion, Prepare, Tool, ToolHandler } from "./tool.ts";

/** The versions for a run of a handler. */
export interface RunVersions {
  /** The tool's version when the task first started. */
  readonly task: number;
  /** The version of the running code. */
  readonly code: number;
}

/** The versions for a run of `tool`, with or without a task. */
export function runVersions(
  { version }: Tool,
  task: { readonly toolVersion: number | null } = { toolVersion: version },
): RunVersions {
  return { task: versionOf(task), code: version };
}

/** The handler for a task that began under a version of the tool; undefined if that is newer than this process's. */
export function toolAtVersion(tool: Tool, version: number): Tool | undefined {
  return version > tool.version ? undefined : (tool.olderVersions.get(version) ?? tool);
}

/** An earlier version, with any arguments. */
export interface AnyOlderVersion {
  readonly inputSchema?: StandardSchemaV1;
  readonly outputSchema?: StandardSchemaV1;
  readonly prepare?: Prepare<never, unknown>;
  readonly handler: ToolHandler<never, never>;
}

const olderOptions: OptionNames<OlderVersion> = {
  inputSchema: true,
  outputSchema: true,
  prepare: true,
  handler: true,
};

/** The earlier versions of a tool: each is the tool with that version's own parts. Throws `configuration` for invalid ones. */
export function olderVersionsOf(
  tool: Omit<Tool, "olderVersions">,
  given: { readonly [version: string]: AnyOlderVersion } = {},
): ReadonlyMap<number, Tool> {
  const what = `olderVersions of tool "${tool.name}"`;
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new HoldfastError("configuration", `${what} is an object: { 1: { inputSchema, handler } }.`);
  }
  const { inputSchema, outputSchema, prepare, ...rest } = tool;
  void [inputSchema, outputSchema, prepare]; // those of the version itself
  return new Map(
    Object.entries(given).map(([key, older]) => {
      const version = Number(key);
      assertOlder(`${what}: version ${key}`, version, older, tool.version);
      return [version, { ...rest, ...older, version, olderVersions: noVersions }];
    }),
  );
}

const noVersions: ReadonlyMap<number, Tool> = new Map();

function assertOlder(what: string, version: number, older: AnyOlderVersion, current: number): void {
  if (!Number.isSafeInteger(version) || version < 1 || version >= current) {
    throw new HoldfastError(
      "configuration",
      `${what} has to be a whole number from 1 on and below the tool's version, which is ${current}.`,
    );
  }
  assertOptionNames(what, older, olderOptions);
  if (typeof older.handler !== "function")
    throw new HoldfastError("configuration", `${what} has no handler.`);
  for (const schema of [older.inputSchema, older.outputSchema]) assertSchema(what, schema);
}

function assertSchema(what: string, schema: StandardSchemaV1 | undefined): void {
  if (schema === undefined || (schema as Partial<StandardSchemaV1>)["~standard"] !== undefined) return;
  throw new HoldfastError("configuration", `${what} needs Standard Schemas, such as z.object({ … }).`);
}

import type { StandardSchemaV1 } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import { assertOptions } from "../../options/options.ts";
import { backoffProblem } from "../clock.ts";
import { isSchema, type ToolSchema } from "./schema.ts";
import type { Prepare, Tool, ToolConfig } from "./tool.ts";
import { olderVersion, toolOptions } from "./tool-options.ts";
import { versionOf } from "../../task/record.ts";
import { mostNameBytes } from "../../task/stored-text.ts";

/** Throws `configuration`, with the right form, if a tool lacks its name, its options or its handler. */
export function assertToolParts(name: unknown, config: unknown, handler: unknown): void {
  const worker =
    typeof config === "object" && config !== null && "worker" in config ? config.worker : undefined;
  const problem =
    typeof name !== "string" || name === ""
      ? "A tool needs a name"
      : typeof config === "function"
        ? `Tool "${name}" has its handler where its options belong`
        : handlerProblem(name, worker, handler);
  if (problem === undefined) return;
  const form =
    'tasks.tool("name", { inputSchema: z.object({ … }) }, async (args, task) => ({ content: [] }))';
  throw new HoldfastError("configuration", `${problem}: ${form}.`);
}

/** A tool has a handler, here or on a thread. */
function handlerProblem(name: string, worker: unknown, handler: unknown): string | undefined {
  if (worker === undefined)
    return typeof handler === "function" ? undefined : `Tool "${name}" has no handler`;
  return handler === undefined
    ? undefined
    : `Tool "${name}" has a worker and a handler: remove one of the two`;
}

/** Throws `configuration` for an invalid tool when it is registered, and not when it is called. */
export function assertToolConfig(
  name: string,
  config: Omit<ToolConfig, "prepare"> & { readonly prepare?: unknown },
): void {
  // The SDK keeps its tools in a plain object, and a tool of such a name breaks the list of all of them.
  if (name in {}) throw wrong(name, "its name cannot be one that every object has, such as toString");
  const bytes = Buffer.byteLength(name);
  if (bytes > mostNameBytes.tool)
    throw wrong(name, `its name has ${bytes} bytes, and ${mostNameBytes.tool} are the most that it may have`);
  assertOptions(`Tool "${name}"`, config, toolOptions);
  assertPlain(name, config);
  assertOrder(name, config);
  assertRetry(name, config);
  if (config.task === "forbidden" && config.requires !== undefined && config.prepare === undefined) {
    throw wrong(name, "only a task can ask its client: remove task or requires");
  }
  assertLargeResults(name, config);
  assertListable(name, "inputSchema", config.inputSchema);
  assertListable(name, "outputSchema", config.outputSchema);
}

/** `plain` has no effect on required and forbidden tools, so setting it is a mistake. */
function assertPlain(name: string, { task, plain }: Omit<ToolConfig, "prepare">): void {
  if (plain === undefined) return;
  if (task === "required" || task === "forbidden")
    throw wrong(name, `plain has no effect if task is "${task}"`);
}

/** Runs without a task are not in the store, and cannot be counted there. */
function assertOrder(name: string, config: Omit<ToolConfig, "prepare">): void {
  const direct = withoutTask(config);
  if (config.alwaysTask === true && direct !== undefined)
    throw wrong(
      name,
      `alwaysTask needs a task, but with ${direct} it runs without one: remove one of the two`,
    );
  const counted = config.concurrency === undefined ? "limit" : "concurrency";
  if (config[counted] === undefined || direct === undefined) return;
  throw wrong(name, `${counted} counts tasks, but with ${direct} it runs without one: remove one of the two`);
}

function assertRetry(name: string, config: Omit<ToolConfig, "prepare">): void {
  const { retry, onCrash } = config;
  if (retry === undefined) return;
  const problem = retry.backoff && backoffProblem("retry.backoff", retry.backoff);
  if (problem !== undefined) throw wrong(name, problem);
  if (onCrash === "fail")
    throw wrong(name, 'retry runs a handler again, which onCrash: "fail" forbids: remove one of the two');
  const direct = withoutTask(config);
  if (direct !== undefined)
    throw wrong(
      name,
      `retry needs a task, but with ${direct} the tool runs without one: remove one of the two`,
    );
}

/** What a schema describes is not a link, and only a task has artifacts. */
function assertLargeResults(name: string, config: Omit<ToolConfig, "prepare">): void {
  if (config.largeResults !== "link") return;
  if (config.outputSchema !== undefined)
    throw wrong(
      name,
      'largeResults: "link" gives a link in place of what outputSchema describes: remove one of the two',
    );
  if (config.task === "forbidden")
    throw wrong(
      name,
      'largeResults: "link" needs a task, which task: "forbidden" rules out: remove one of the two',
    );
}

/** The option with which a tool runs without a task. */
function withoutTask({ task, promoteAfterMs }: Omit<ToolConfig, "prepare">): string | undefined {
  if (task === "forbidden") return 'task: "forbidden"';
  return promoteAfterMs === undefined ? undefined : "promoteAfterMs";
}

/** The SDK lists a schema by its JSON form; one without it would break the list of all tools. What it makes of fields has one. */
function assertListable(name: string, member: string, schema: ToolSchema | undefined): void {
  if (!isSchema(schema)) return;
  const standard: object = schema["~standard"];
  // The SDK makes the JSON form of zod 4 in its early versions itself.
  if ("jsonSchema" in standard || "_zod" in schema) return;
  throw wrong(
    name,
    `${member} has no JSON form; use a library with one, such as zod 4 (zod/v4 in 3.25), or fromJsonSchema of the SDK`,
  );
}

function wrong(name: string, problem: string): HoldfastError {
  return new HoldfastError("configuration", `Tool "${name}": ${problem}.`);
}

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
  readonly handler: Tool["handler"];
}

/** The earlier versions of a tool: each is the tool with that version's own parts. Throws `configuration` for invalid ones. */
export function olderVersionsOf(
  tool: Omit<Tool, "olderVersions">,
  given: { readonly [version: string]: AnyOlderVersion } = {},
): ReadonlyMap<number, Tool> {
  const what = `olderVersions of tool "${tool.name}"`;
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
      `${what} must be a whole number of at least 1 and below the tool's version, which is ${current}.`,
    );
  }
  assertOptions(what, older, olderVersion);
}

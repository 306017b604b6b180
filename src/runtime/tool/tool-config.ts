import type { StandardSchemaV1 } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import { assertOptions } from "../../options/options.ts";
import { runtimeOptions } from "../options.ts";
import {
  retryProblem,
  type ToolConfig,
  type OlderVersion,
  type Prepare,
  type Tool,
  type ToolHandler,
} from "./tool.ts";
import { versionOf } from "../../task/record.ts";

const toolOptions: OptionNames<ToolConfig> = {
  title: true,
  description: true,
  inputSchema: true,
  outputSchema: true,
  annotations: true,
  icons: true,
  _meta: true,
  task: true,
  requires: true,
  onCrash: true,
  park: true,
  prepare: true,
  promoteAfterMs: true,
  immediateResponse: true,
  plain: true,
  plainDeadlineMs: true,
  joinCalls: true,
  concurrency: true,
  priority: true,
  ttlMs: true,
  pollIntervalMs: true,
  maxRunMs: true,
  inputTimeoutMs: true,
  timeoutMs: true,
  version: true,
  olderVersions: true,
  retry: true,
};

const choices = {
  task: ["optional", "required", "forbidden"],
  onCrash: ["auto", "resume", "fail"],
  plain: ["wait", "ticket"],
  park: [true, false],
} as const;

/** Throws `configuration`, with the right form, if a tool lacks its name, its options or its handler. */
export function assertToolParts(name: unknown, config: unknown, handler: unknown): void {
  const problem =
    typeof name !== "string" || name === ""
      ? "A tool needs a name"
      : typeof config === "function"
        ? `Tool "${name}" has its handler where its options belong`
        : typeof handler !== "function"
          ? `Tool "${name}" has no handler`
          : undefined;
  if (problem === undefined) return;
  const form =
    'tasks.tool("name", { inputSchema: z.object({ … }) }, async (args, task) => ({ content: [] }))';
  throw new HoldfastError("configuration", `${problem}: ${form}.`);
}

/** Throws `configuration` for an invalid tool when it is registered, and not when it is called. */
export function assertToolConfig(
  name: string,
  config: Omit<ToolConfig, "prepare"> & { readonly prepare?: unknown },
): void {
  // The SDK keeps its tools in a plain object, and a tool of such a name breaks the list of all of them.
  if (name in {}) throw wrong(name, "its name cannot be one that every object has, such as toString");
  assertOptionNames(`Tool "${name}"`, config, toolOptions);
  for (const [option, allowed] of Object.entries(choices)) {
    const value: unknown = config[option as keyof typeof choices];
    if (value === undefined || allowed.some((choice) => choice === value)) continue;
    throw wrong(name, `${option} has to be ${allowed.map((choice) => JSON.stringify(choice)).join(" or ")}`);
  }
  const { ttlMs, maxRunMs, inputTimeoutMs, pollIntervalMs, promoteAfterMs } = config;
  assertOptions(`Tool "${name}"`, { ttlMs, maxRunMs, inputTimeoutMs, pollIntervalMs }, runtimeOptions);
  if (promoteAfterMs !== undefined && !(Number.isFinite(promoteAfterMs) && promoteAfterMs >= 0)) {
    throw wrong(name, "promoteAfterMs has to be a number of at least 0");
  }
  const { timeoutMs } = config;
  if (timeoutMs !== undefined && !(Number.isSafeInteger(timeoutMs) && timeoutMs >= 1))
    throw wrong(name, "timeoutMs has to be a whole number of at least 1");
  const { version = 1 } = config;
  if (!Number.isSafeInteger(version) || version < 1)
    throw wrong(name, "version has to be a whole number of at least 1");
  assertPlain(name, config);
  assertOrder(name, config);
  const wrongRetry = config.retry && retryProblem(config.retry, config);
  if (wrongRetry !== undefined) throw wrong(name, wrongRetry);
  const { immediateResponse } = config;
  if (
    immediateResponse !== undefined &&
    (typeof immediateResponse !== "string" || immediateResponse === "")
  ) {
    throw wrong(name, "immediateResponse must be a non-empty string");
  }
  if (config.task === "forbidden" && config.requires !== undefined && config.prepare === undefined) {
    throw wrong(name, "only a task can ask its client: remove task or requires");
  }
  assertListable(name, "inputSchema", config.inputSchema);
  assertListable(name, "outputSchema", config.outputSchema);
}

/** `plain` has no effect on required and forbidden tools, so setting it is a mistake. */
function assertPlain(name: string, { task, plain, plainDeadlineMs }: Omit<ToolConfig, "prepare">): void {
  if (plainDeadlineMs !== undefined) assertPlainMs(`Tool "${name}": plainDeadlineMs`, plainDeadlineMs);
  if (plain === undefined) return;
  if (task === "required" || task === "forbidden")
    throw wrong(name, `plain has no effect if task is "${task}"`);
}

/** Runs that are not in the store cannot be counted there. */
function assertOrder(
  name: string,
  { task, promoteAfterMs, concurrency, priority }: Omit<ToolConfig, "prepare">,
): void {
  if (priority !== undefined && !Number.isSafeInteger(priority))
    throw wrong(name, "priority has to be a whole number");
  if (concurrency === undefined) return;
  if (!Number.isSafeInteger(concurrency) || concurrency < 1)
    throw wrong(name, "concurrency has to be a whole number of at least 1");
  const direct =
    task === "forbidden" ? 'task: "forbidden"' : promoteAfterMs === undefined ? undefined : "promoteAfterMs";
  if (direct !== undefined)
    throw wrong(
      name,
      `concurrency counts tasks, but with ${direct} it runs without one: remove one of the two`,
    );
}

/** Throws `configuration`, naming `what`, unless it is a time in ms. */
function assertPlainMs(what: string, ms: unknown): void {
  if (Number.isSafeInteger(ms) && Number(ms) >= 0) return;
  throw new HoldfastError("configuration", `${what} has to be a whole number of at least 0.`);
}

/** The SDK lists a schema by its JSON form; one without it would break the list of all tools. */
function assertListable(name: string, member: string, schema: StandardSchemaV1 | undefined): void {
  if (schema === undefined) return;
  const standard: object | undefined = schema["~standard"];
  if (standard === undefined)
    throw wrong(name, `${member} has to be a Standard Schema, such as z.object({ … })`);
  // The SDK makes the JSON form of older zod schemas itself.
  if ("jsonSchema" in standard || schema["~standard"].vendor === "zod") return;
  throw wrong(name, `${member} has no JSON form; use a library with one, or fromJsonSchema of the SDK`);
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

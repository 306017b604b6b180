import type { StandardSchemaV1 } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import { assertOptions } from "../../options/options.ts";
import { runtimeOptions } from "../options.ts";
import { retryProblem } from "./retry-policy.ts";
import type { ToolConfig } from "./tool.ts";

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
        ? `Tool "${name}" has its handler in the place of its options`
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
  if (name in {}) throw wrong(name, "it cannot have the name of something that every object has");
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
    throw wrong(name, "immediateResponse has to be a text that is not empty");
  }
  if (config.task === "forbidden" && config.requires !== undefined && config.prepare === undefined) {
    throw wrong(name, "it asks its client, which it can do only as a task: leave out task or requires");
  }
  assertListable(name, "inputSchema", config.inputSchema);
  assertListable(name, "outputSchema", config.outputSchema);
}

/** `plain` has no effect on required and forbidden tools, so setting it is a mistake. */
function assertPlain(name: string, { task, plain, plainDeadlineMs }: Omit<ToolConfig, "prepare">): void {
  if (plainDeadlineMs !== undefined) assertPlainMs(`Tool "${name}": plainDeadlineMs`, plainDeadlineMs);
  if (plain === undefined) return;
  if (task === "required" || task === "forbidden")
    throw wrong(name, `plain means nothing where task is "${task}"`);
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
      `concurrency counts tasks, and with ${direct} it runs without one: leave out one of the two`,
    );
}

/** Throws `configuration`, naming `what`, unless it is a time in ms. */
export function assertPlainMs(what: string, ms: unknown): void {
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

import type { StandardSchemaV1 } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import { assertOptions } from "../resolve-options.ts";
import type { ToolConfig } from "./tool.ts";

/** Throws `configuration` for a tool that could not work, while its author looks and not when it is called. */
export function assertToolConfig(
  name: string,
  config: Omit<ToolConfig, "prepare"> & { readonly prepare?: unknown },
): void {
  // The SDK keeps its tools in a plain object, and a tool of such a name breaks the list of all of them.
  if (name in {}) throw wrong(name, "it cannot have the name of something that every object has");
  const { ttlMs, maxRunMs, inputTimeoutMs, pollIntervalMs, promoteAfterMs } = config;
  assertOptions({ ttlMs, maxRunMs, inputTimeoutMs, pollIntervalMs });
  if (promoteAfterMs !== undefined && !(Number.isFinite(promoteAfterMs) && promoteAfterMs >= 0)) {
    throw wrong(name, "promoteAfterMs has to be a number from 0 on");
  }
  assertPlain(name, config);
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

/** Of required and forbidden tools no call without a task is kept. */
function assertPlain(name: string, { task, plain, plainDeadlineMs }: Omit<ToolConfig, "prepare">): void {
  if (plainDeadlineMs !== undefined) assertPlainDeadline(`Tool "${name}": plainDeadlineMs`, plainDeadlineMs);
  if (plain === undefined) return;
  if (plain !== "wait" && plain !== "ticket") throw wrong(name, 'plain has to be "wait" or "ticket"');
  if (task === "required" || task === "forbidden")
    throw wrong(name, `plain means nothing where task is "${task}"`);
}

/** Throws `configuration`, naming `what`, for a time that no call can wait. */
export function assertPlainDeadline(what: string, ms: unknown): void {
  if (Number.isSafeInteger(ms) && Number(ms) >= 0) return;
  throw new HoldfastError("configuration", `${what} has to be a whole number from 0 on.`);
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

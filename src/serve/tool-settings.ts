import { fromJsonSchema } from "@modelcontextprotocol/server";
import type { CallToolResult, ToolAnnotations } from "@modelcontextprotocol/server";
import type { LimitName } from "../runtime/limits/limit-name.ts";
import type { TimeSpan } from "../task/time.ts";
import { isJsonObject } from "../generation/message.ts";
import type { Approval } from "./approval.ts";
import { toolInput, type ArgumentsSchema, type ToolInput } from "./input-schema.ts";
import type { SourceTool } from "./source.ts";

/** What each tool of a file can have, whatever its calls do. */
export interface ToolSettings {
  readonly title?: string | undefined;
  /** For the model: what the tool does, and when to use it. */
  readonly description?: string | undefined;
  readonly annotations?: ToolAnnotations | undefined;
  /** The arguments, as a JSON Schema of an object. Default: none. */
  readonly inputSchema?: ArgumentsSchema | undefined;
  /** The structured content of results, as a JSON Schema of an object, which results are checked against. Default: not checked. */
  readonly outputSchema?: ArgumentsSchema | undefined;
  /** Who has to agree before each call. Default: nobody. */
  readonly approval?: Approval | undefined;
  /** A limit of `limits`, or such a limit and a key. Default: none. */
  readonly limit?: LimitName | undefined;
  /** How many of its calls run at the same time, over all processes. Default: any number. */
  readonly concurrency?: number | undefined;
  /** Calls of a tool with a higher number start first. Default 0. */
  readonly priority?: number | undefined;
  /** The life of a task, its result included. Default: that of the server. */
  readonly ttlMs?: TimeSpan | null | undefined;
  /** How long a call may take in all. Default: that of the server. */
  readonly maxRunMs?: TimeSpan | undefined;
  /** How long a client without tasks waits before it gets a ticket. Default: that of the server. */
  readonly plainDeadlineMs?: TimeSpan | undefined;
}

/** The tool for clients, and its arguments. */
export function described(settings: ToolSettings): {
  readonly config: SourceTool["config"];
  readonly input: ToolInput;
} {
  const { inputSchema, outputSchema, approval, ...given } = settings;
  void approval; // asked for before the handler
  const input = toolInput(inputSchema);
  const options = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const config = {
    ...options,
    inputSchema: input.schema,
    ...(outputSchema && {
      outputSchema: fromJsonSchema({ type: "object", ...outputSchema } as Parameters<
        typeof fromJsonSchema
      >[0]),
    }),
    onCrash: "resume" as const,
  };
  return { config, input };
}

/** JSON data as a result: an object is structured content, too. */
export function jsonResult(value: unknown): CallToolResult {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return {
    content: [{ type: "text", text }],
    ...(isJsonObject(value) && { structuredContent: value }),
  };
}

export function errorResult(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

import type { CallToolResult } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import type { JournalKey } from "../../task/journal.ts";
import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import type { AllOptions, CalledTool } from "../tool/task-context.ts";

/** Maximum number of calls that one task may have running. */
const highest = 1_000;

const allOptions: OptionNames<AllOptions> = { concurrency: true };

interface Call {
  readonly tool: CalledTool;
  readonly arguments: unknown;
}

/**
 * Makes the calls in order, a limited number at a time, and resolves with their results in that order. Rejects with the first failure;
 * after that no more begin. A call's key is the common key followed by its index, so the order in which they end does not matter.
 */
export async function callAll(
  key: JournalKey,
  calls: readonly Call[],
  options: AllOptions,
  callTool: (key: JournalKey, name: string, args: unknown) => Promise<CallToolResult>,
): Promise<CallToolResult[]> {
  const { concurrency = 10 } = options;
  assertAll(calls, options, concurrency);
  const parts = typeof key === "string" ? [key] : key;
  const results = new Map<number, CallToolResult>();
  const waiting = calls.entries(); // of which each worker takes the next
  let failed = false;
  const work = async (): Promise<void> => {
    for (const [place, { tool, arguments: args }] of waiting) {
      if (failed) return;
      try {
        results.set(place, await callTool([...parts, place], nameOf(tool), args));
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, calls.length) }, work));
  return [...results].sort(([a], [b]) => a - b).map(([, result]) => result);
}

/** JavaScript callers can pass anything. */
export function nameOf(tool: unknown): string {
  if (typeof tool === "string") return tool;
  const name: unknown = typeof tool === "object" && tool !== null && "name" in tool ? tool.name : undefined;
  if (typeof name === "string") return name;
  throw new TypeError("To call a tool, pass what tasks.tool() returned, or the tool's name.");
}

function assertAll(calls: unknown, options: AllOptions, concurrency: unknown): void {
  if (!Array.isArray(calls) || !calls.every((call) => typeof call === "object" && call !== null))
    throw new TypeError("task.all takes a list of calls: [{ tool, arguments }, …].");
  assertOptionNames("task.all", options, allOptions);
  if (Number.isSafeInteger(concurrency) && Number(concurrency) >= 1 && Number(concurrency) <= highest) return;
  throw new HoldfastError(
    "configuration",
    `task.all: concurrency has to be a whole number from 1 to ${highest}, not ${String(concurrency)}.`,
  );
}

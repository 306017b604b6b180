import { SdkError, ProtocolError, type Tool } from "@modelcontextprotocol/client";
import type { TaskClient } from "../../client/task-client.ts";
import { didYouMean } from "../arguments/nearest.ts";
import { throwIfLost, throwIfRefused } from "../server/sdk-errors.ts";
import { UsageError } from "../errors.ts";

/**
 * All tools that the server lists; undefined if it has no list, or an invalid one. Rejects with a `TaskClientError`
 * if the connection was lost or the caller is refused.
 */
export async function listTools(
  client: TaskClient,
  signal: AbortSignal,
): Promise<readonly Tool[] | undefined> {
  const tools: Tool[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  try {
    do {
      const page = await client.sdk.listTools(cursor === undefined ? {} : { cursor }, { signal });
      for (const tool of page.tools) tools.push(tool);
      cursor = page.nextCursor;
      if (cursor !== undefined && seen.has(cursor)) break;
      if (cursor !== undefined) seen.add(cursor);
    } while (cursor !== undefined);
  } catch (error) {
    signal.throwIfAborted();
    throwIfLost(error);
    throwIfRefused(error);
    if (error instanceof ProtocolError || error instanceof SdkError) return undefined;
    throw error;
  }
  return tools;
}

/** The tool of that name; throws a UsageError that names the others. */
export function pickTool(name: string, tools: readonly Tool[]): Tool {
  const found = tools.find((tool) => tool.name === name);
  if (found !== undefined) return found;
  const names = tools.map((tool) => tool.name).join(", ");
  const meant = didYouMean(
    name,
    tools.map((tool) => tool.name),
  );
  throw new UsageError(`The server has no tool ${JSON.stringify(name)}. ${meant}It has ${names || "none"}.`);
}

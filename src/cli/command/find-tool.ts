import { SdkError, ProtocolError, type Tool } from "@modelcontextprotocol/client";
import type { TaskClient } from "../../client/task-client.ts";
import { didYouMean } from "../arguments/nearest.ts";
import { allPages } from "../server/request.ts";
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
  // Otherwise the SDK would print a warning to the console.
  if (client.sdk.getServerCapabilities()?.tools === undefined) return [];
  try {
    return await allPages(async (params) => {
      const { tools, nextCursor } = await client.sdk.listTools(params, { signal });
      return { items: tools, nextCursor };
    });
  } catch (error) {
    signal.throwIfAborted();
    throwIfLost(error);
    throwIfRefused(error);
    if (error instanceof ProtocolError || error instanceof SdkError) return undefined;
    throw error;
  }
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

import type { Tool } from "@modelcontextprotocol/client";
import type { TaskClient } from "../../client/task-client.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import { didYouMean } from "../arguments/words.ts";
import { UsageError } from "../errors.ts";

/** What a server lists, with what is wrong with the tools that are left out. */
export type ListedTools = Awaited<ReturnType<TaskClient["listTools"]>>;

/**
 * All tools that the server lists, or why it has no list that can be read. Rejects with a `TaskClientError` if the connection was lost or
 * the caller is refused.
 */
export async function listTools(
  client: TaskClient,
  signal: AbortSignal,
): Promise<ListedTools | TaskClientError> {
  try {
    return await client.listTools({ signal });
  } catch (error) {
    const isUnlisted =
      error instanceof TaskClientError && (error.code === "rpc" || error.code === "protocol");
    if (!isUnlisted) throw error;
    const { code, message, cause, error: rpc } = error;
    return new TaskClientError(code, `The server does not list its tools: ${message}`, { cause, error: rpc });
  }
}

/** What is wrong with this tool, if the server lists it but it is left out. */
export function problemOf(name: string, { problems }: ListedTools): string | undefined {
  return problems.find((problem) => problem.startsWith(`tool ${JSON.stringify(name)}: `));
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

import type { ConnectOptions } from "../../../src/client/connect-options.ts";
import type { TaskHandle } from "../../../src/client/task/task-handle.ts";
import { isJsonObject, type JsonObject } from "../../../src/generation/message.ts";
import { setUpCore, type CorePeer, type CoreSetup } from "../2025-11-25/core-peer.ts";

export const taskKey = "modelcontextprotocol.io/task";
export const relatedKey = "modelcontextprotocol.io/related-task";
export const sent = { content: [{ type: "text", text: "sent" }] };
export const unknownTask = { error: { code: -32602, message: "Unknown task" } };
export const noMethod = { error: { code: -32601, message: "Method not found" } };

export function related(taskId: string): object {
  return { [relatedKey]: { taskId } };
}

/** What a call says of the task that it wants to be. */
export function askedFor(params: JsonObject | undefined): { taskId: string; keepAlive?: number } {
  const meta = params?.["_meta"];
  const asked = isJsonObject(meta) ? meta[taskKey] : undefined;
  if (!isJsonObject(asked) || typeof asked["taskId"] !== "string") throw new Error("no task is asked for");
  return asked as { taskId: string };
}

/** The answer to `tasks/get` of the task that is asked for. */
export function task(status: string, more: object = {}) {
  return ({ taskId }: JsonObject) => ({
    result: {
      taskId,
      status,
      keepAlive: 60_000,
      pollFrequency: 2000,
      _meta: related(String(taskId)),
      ...more,
    },
  });
}

/** Makes a task of a call, says so, and leaves the call without an answer. */
export function creating(peer: CorePeer) {
  return (params: JsonObject): "silence" => {
    peer.notify("notifications/tasks/created", { _meta: related(askedFor(params).taskId) });
    return "silence";
  };
}

/** A scripted server of protocol 2025-06-18, where tasks can only be those of SEP-1686. */
export async function setUpSep(
  options: ConnectOptions = {},
  capabilities: object = { tools: {} },
  version = "2025-06-18",
): Promise<CoreSetup> {
  return setUpCore(options, capabilities, version);
}

/** A task that the server has just made; the id of its request, which is not answered yet. */
export async function start({
  peer,
  client,
}: CoreSetup): Promise<TaskHandle & { requestId: unknown; id: string }> {
  peer.script("tools/call", creating(peer));
  const handle = await client.startTool("publish_report");
  const requestId = peer.of("tools/call").at(-1)?.["id"];
  return Object.assign(handle, { requestId, id: String(handle.taskId) });
}

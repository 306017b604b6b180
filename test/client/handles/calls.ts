import type { StoredCall } from "../../../src/client/handles/handle-store.ts";

export const server = "http://127.0.0.1:3000/mcp";
export const generation = "2026-07-28";

export function storedCall(more: Partial<StoredCall> = {}): StoredCall {
  const call = { key: "a-key", server, generation, tool: "publish_report", args: { month: "2026-10" } };
  return { ...call, startedAt: 1_790_000_000_000, taskId: null, ...more };
}

export function taskOf(taskId: string): { server: string; generation: string; taskId: string } {
  return { server, generation, taskId };
}

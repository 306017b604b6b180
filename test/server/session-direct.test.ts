import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished, vi } from "vitest";
import { serve, text } from "./peer.ts";
import { SessionPeer } from "./session-peer.ts";

/** A session with a task, and how many requests the SDK's transport has seen since. */
async function polled() {
  const { http } = await serve({
    tools: (tasks) => tasks.tool("bare", {}, () => text("bare")),
    http: { anonymous: "shared" },
  });
  const peer = await SessionPeer.open(http.url);
  const { result } = await peer.request("tools/call", { name: "bare", arguments: {}, task: {} });
  const { taskId } = (result as { task: { taskId: string } }).task;
  const seen = vi.spyOn(WebStandardStreamableHTTPServerTransport.prototype, "handleRequest");
  onTestFinished(() => seen.mockRestore());
  const ask = { id: 1, method: "tasks/get", params: { taskId } };
  return { peer, ask, seen: () => seen.mock.calls.length };
}

it("answers a poll without the SDK's transport [C-054]", async () => {
  const { peer, ask, seen } = await polled();
  for (const method of ["tasks/get", "tasks/list", "tasks/cancel"]) {
    const response = await peer.post({ ...ask, method });
    expect([response.status, response.headers.get("mcp-session-id")]).toEqual([200, peer.sessionId]);
    expect(await response.json()).toMatchObject({ jsonrpc: "2.0", id: 1 });
  }
  expect(seen()).toBe(0);
});

it("shows the SDK's transport every request in which it could find a fault", async () => {
  const { peer, ask, seen } = await polled();
  const odd: [number, object, Record<string, string>?][] = [
    [406, ask, { accept: "application/json" }],
    [400, ask, { "mcp-protocol-version": "1999-01-01" }],
    [200, ask, { "mcp-protocol-version": "2025-06-18" }],
    [200, [{ jsonrpc: "2.0", ...ask }]],
    [200, { ...ask, method: "tasks/result" }],
  ];
  for (const [index, [status, message, headers = {}]] of odd.entries()) {
    const response = await peer.post(message, { headers });
    await response.body?.cancel();
    expect([message, response.status]).toEqual([message, status]);
    expect(seen()).toBe(index + 1);
  }
});

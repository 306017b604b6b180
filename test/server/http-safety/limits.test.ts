import type { Tasks } from "holdfast";
import type { HttpOptions } from "holdfast/http";
import { expect, it } from "vitest";
import { text } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";
import { SessionClient } from "../../kit/session-client.ts";

const tools = (tasks: Tasks): void => void tasks.tool("bare", {}, () => text("bare"));
const pings = (count: number): object[] =>
  Array.from({ length: count }, (_, id) => ({ jsonrpc: "2.0", id: `p${id}`, method: "ping" }));

it("takes as many messages at once as it may, and no more", async () => {
  const { http } = await serve({ tools });
  const peer = await SessionClient.open(http.url, { version: "2025-03-26" });
  const taken = await peer.post(pings(50));
  expect(taken.status).toBe(200);
  expect((await taken.text()).match(/"id":"p\d+"/g)).toHaveLength(50);
  const refused = await peer.post(pings(51));
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({
    error: { code: -32600, message: "The batch has more than 50 messages." },
  });
  const { http: strict } = await serve({ tools, http: { maxBatch: 1 } });
  expect((await (await SessionClient.open(strict.url)).post(pings(2))).status).toBe(400);
});

it("takes no several messages of 2026-07-28", async () => {
  const { http } = await serve({ tools });
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "ping" };
  expect((await new SessionClient(http.url, { headers }).post(pings(2))).status).toBe(400);
});

it.each<HttpOptions>([
  { maxBatch: 0 },
  { maxConnections: Number.NaN },
  { maxHeaderBytes: -1 },
  { maxHeaders: 0 },
  { headersTimeoutMs: 0 },
  { keepAliveTimeoutMs: 1.5 },
  { requestTimeoutMs: Infinity },
  { stallTimeoutMs: 2 ** 31 },
  { unusedSessionMs: 0 },
  { maxPendingBytes: 1_000 },
  { maxOutgoingBytes: 0 },
  { resumeMs: 0 },
  { maxOpenRequestsPerSession: 0 },
  { maxOpenRequestsPerPrincipal: Number.NaN },
])("refuses %o", async (http) => {
  await expect(serve({ tools, http })).rejects.toMatchObject({ code: "configuration" });
});

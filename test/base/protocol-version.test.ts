import { expect, it } from "vitest";
import { text } from "../kit/messages.ts";
import { serve, type Served } from "../kit/server.ts";
import { EventStream, SessionClient } from "../kit/session-client.ts";

function served(sessions: boolean): Promise<Served> {
  return serve({ tools: (tasks) => tasks.tool("bare", {}, () => text("bare")), http: { sessions } });
}

/** Undefined leaves the header out. */
function ping(peer: SessionClient, version: string | undefined): Promise<Response> {
  const session = peer.sessionId === undefined ? {} : { "mcp-session-id": peer.sessionId };
  return fetch(peer.url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...session,
      ...(version !== undefined && { "mcp-protocol-version": version }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  });
}

it.each([true, false])("is refused where nobody knows it, with sessions: %s [B-115]", async (sessions) => {
  const { http } = await served(sessions);
  const peer = await SessionClient.open(http.url);
  for (const version of ["banana", "1999-01-01", ""]) {
    const refused = await ping(peer, version);
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: expect.any(Number) as unknown } });
  }
  const methods = sessions ? ["GET", "DELETE"] : [];
  for (const method of methods) {
    const refused = await peer.send(method, { headers: { "mcp-protocol-version": "banana" } });
    expect(refused.status).toBe(400);
  }
  expect((await new EventStream(await ping(peer, "2025-11-25")).message())?.["result"]).toEqual({});
});

it.each([true, false])(
  "is that of 2025-03-26 where a request does not say it, with sessions: %s [B-114]",
  async (sessions) => {
    const { http } = await served(sessions);
    const peer = await SessionClient.open(http.url, { version: "2025-03-26" });
    const answered = await ping(peer, undefined);
    expect(answered.status).toBe(200);
    const stream = new EventStream(answered);
    // No event without data: clients of that revision do not know them.
    expect(await stream.any()).toMatchObject({ message: { id: 1, result: {} } });
  },
);

import type { HttpOptions } from "holdfast/http";
import { expect, it } from "vitest";
import { text } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";
import { type EventStream, SessionClient } from "../../kit/session-client.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { listenTo } from "../../kit/subscription.ts";
import { Job } from "../plain/job.ts";

const without = { capabilities: {} };
const as = (name: string): { headers: { authorization: string } } => ({ headers: { authorization: name } });

async function limited(options: Partial<HttpOptions> = {}) {
  const job = new Job();
  const { http } = await serve({
    tools: (tasks) => {
      job.add(tasks);
      tasks.tool("now", { task: "forbidden" }, () => text("now"));
    },
    http: {
      authenticate: async ({ headers }) => headers.get("authorization") ?? undefined,
      maxOpenRequestsPerPrincipal: 2,
      ...options,
    },
  });
  return { job, url: http.url, peer: new StatelessClient(http.url) };
}

/** Sends until it is not refused for what is still open. */
async function onceFree(peer: StatelessClient): Promise<unknown> {
  for (;;) {
    const { status, result } = await peer.call("now", {}, { ...without, ...as("ann") });
    if (status !== 429) return result;
  }
}

it("refuses what a principal asks beyond what it has open, in every generation, and nobody else", async () => {
  const { job, url, peer } = await limited();
  const leaving = new AbortController();
  const first = peer.call("job", {}, { ...without, ...as("ann"), signal: leaving.signal });
  await job.begun.promise;
  const session = await SessionClient.open(url, as("ann"));
  await session.begin("tools/call", { name: "job", arguments: {} });
  const refused = await peer.call("now", {}, { ...without, ...as("ann"), id: "one more" });
  expect(refused).toMatchObject({
    status: 429,
    id: "one more",
    error: {
      code: -32_000,
      message: "This principal already has 2 open requests. Wait for some of them, or cancel them.",
      data: { retryAfterMs: 1_000 },
    },
  });
  expect(refused.headers.get("retry-after")).toBe("1");
  expect((await session.post({ id: 9, method: "ping" })).status).toBe(429);
  expect(await peer.call("now", {}, { ...without, ...as("bob") })).toMatchObject({ result: text("now") });
  leaving.abort();
  await expect(first).rejects.toThrow();
  expect(await onceFree(peer)).toMatchObject(text("now"));
  job.end();
});

it("counts what listens until it is closed", async () => {
  const { job, url, peer } = await limited();
  const leaving = new AbortController();
  const send = (to: string, init: RequestInit): Promise<Response> =>
    fetch(to, {
      ...init,
      headers: { ...(init.headers as object), ...as("ann").headers },
      signal: leaving.signal,
    });
  const streams = await Promise.all(
    [1, 2].map((id) => listenTo(url, { toolsListChanged: true }, { id, fetch: send })),
  );
  expect(streams.map(({ status }) => status)).toEqual([200, 200]);
  expect((await peer.call("now", {}, { ...without, ...as("ann") })).status).toBe(429);
  leaving.abort();
  expect(await onceFree(peer)).toMatchObject(text("now"));
  job.end();
});

it("counts each request of a batch", async () => {
  const { job, url } = await limited();
  const session = await SessionClient.open(url, { ...as("ann"), version: "2025-03-26" });
  const batch = (size: number): object[] =>
    Array.from({ length: size }, (_, id) => ({ jsonrpc: "2.0", id, method: "ping" }));
  expect((await session.post(batch(3))).status).toBe(429);
  expect((await session.post(batch(2))).status).toBe(200);
  job.end();
});

it("counts the streams that are opened by GET apart from the requests", async () => {
  const { job, url } = await limited({ maxSessionsPerPrincipal: 1, maxOpenRequestsPerPrincipal: 1 });
  const session = await SessionClient.open(url, as("ann"));
  await session.listen();
  const statuses: number[] = [];
  for (let time = 0; time < 2; time++) {
    const leaving = new AbortController();
    const call = await beginOnceFree(session, leaving.signal);
    const headers = { "last-event-id": (await call.any())?.id ?? "" };
    leaving.abort();
    let response: Response;
    // Until the server notices that the connection is gone, the stream is taken.
    do response = await session.send("GET", { headers });
    while (response.status === 409);
    statuses.push(response.status);
  }
  expect(statuses).toEqual([200, 429]);
  job.end();
});

/** Begins a call when the one before is not open any more. */
async function beginOnceFree(session: SessionClient, signal: AbortSignal): Promise<EventStream> {
  for (;;) {
    const stream = await session.begin("tools/call", { name: "job", arguments: {} }, { signal });
    if (stream.response.ok) return stream;
  }
}

import type { HttpOptions, HttpSession } from "holdfast/http";
import { memoryDatabase, memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import { serve, type Served } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";

interface Told extends Served {
  /** What the author was told, in order. */
  readonly told: (readonly [string, HttpSession])[];
}

async function started(http: HttpOptions = {}, database = memoryDatabase()): Promise<Told> {
  const told: (readonly [string, HttpSession])[] = [];
  const served = await serve({
    tools: () => undefined,
    options: { store: memoryStore(database) },
    http: {
      onSessionOpened: (session) => told.push(["opened", session]),
      onSessionClosed: (session) => told.push(["closed", session]),
      ...http,
    },
  });
  return { ...served, told };
}

it("tells of a session when its handshake is answered, and when its client ends it [B-111]", async () => {
  const { http, told, errors } = await started({ authenticate: async () => "ann" });
  const peer = await SessionClient.open(http.url);
  const session = { id: peer.sessionId, principal: "ann" };
  expect(told).toEqual([["opened", session]]);
  await peer.request("ping");
  expect((await peer.send("DELETE")).status).toBe(200);
  expect((await peer.send("DELETE")).status).toBe(404);
  expect(told).toEqual([
    ["opened", session],
    ["closed", session],
  ]);
  expect(errors).toEqual([]);
});

it("tells that a session is closed with its server, and opened again where it is continued", async () => {
  const database = memoryDatabase();
  const first = await started({}, database);
  const peer = await SessionClient.open(first.http.url);
  const session = { id: peer.sessionId, principal: null };
  await first.http.close();
  const second = await started({ port: Number(new URL(first.http.url).port) }, database);
  expect(second.told).toEqual([]);
  await peer.request("ping");
  expect(first.told).toEqual([
    ["opened", session],
    ["closed", session],
  ]);
  expect(second.told).toEqual([["opened", session]]);
});

it("tells of no session that did not open, and of none without sessions", async () => {
  const { http, told } = await started();
  const peer = new SessionClient(http.url);
  expect((await peer.post({ id: 1, method: "initialize", params: {} })).status).toBe(400);
  const unknown = { "mcp-session-id": "8f8b0a0c-0000-4000-8000-000000000000" };
  expect((await peer.post({ id: 1, method: "ping" }, { headers: unknown })).status).toBe(404);
  const without = await started({ sessions: false });
  await (await SessionClient.open(without.http.url)).request("ping");
  expect([told, without.told]).toEqual([[], []]);
});

it("lets a handshake wait until the author has dealt with it, and reports what fails", async () => {
  const steps: string[] = [];
  const late = Promise.withResolvers<void>();
  const { http, errors } = await started({
    onSessionOpened: async () => {
      steps.push("told");
      await late.promise;
      steps.push("dealt with");
      throw new Error("full");
    },
    onSessionClosed: () => {
      throw new Error("empty");
    },
  });
  const opening = SessionClient.open(http.url).then((peer) => {
    steps.push("answered");
    return peer;
  });
  while (steps.length === 0) await new SessionClient(http.url).send("GET");
  late.resolve();
  const peer = await opening;
  expect(steps).toEqual(["told", "dealt with", "answered"]);
  await peer.request("ping");
  await peer.send("DELETE");
  expect(errors).toEqual([new Error("full"), new Error("empty")]);
});

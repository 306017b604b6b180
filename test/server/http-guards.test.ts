import { request } from "node:http";
import type { Tasks } from "holdfast";
import type { Authenticate } from "holdfast/http";
import { expect, it } from "vitest";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { EventStream, SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

function tools(tasks: Tasks): void {
  tasks.tool("bare", {}, () => text("bare"));
}

/** The status that a request gets; `fetch` does not let its caller write the Host header. */
function statusFor(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on("error", reject);
    sent.end("{}");
  });
}

const json = { "content-type": "application/json" };

it("serves this machine's own names alone, unless told others [B-124]", async () => {
  const { http } = await serve({ tools });
  expect(await statusFor(http.url, { ...json, host: "evil.example" })).toBe(403);
  expect(await statusFor(http.url, { ...json, host: `localhost:${http.port}` })).not.toBe(403);
  const named = await serve({ tools, http: { allowedHosts: ["reports.example"] } });
  expect(await statusFor(named.http.url, { ...json, host: "reports.example" })).not.toBe(403);
  expect(await statusFor(named.http.url, { ...json, host: "localhost" })).toBe(403);
});

it("serves web pages of this machine alone, unless told others [B-119 B-120 B-124]", async () => {
  const { http } = await serve({ tools });
  expect(await statusFor(http.url, { ...json, origin: "https://evil.example" })).toBe(403);
  expect(await statusFor(http.url, { ...json, origin: "null" })).toBe(403);
  expect(await statusFor(http.url, { ...json, origin: "http://localhost:5173" })).not.toBe(403);
  const named = await serve({ tools, http: { allowedOrigins: ["app.example"] } });
  expect(await statusFor(named.http.url, { ...json, origin: "https://app.example" })).not.toBe(403);
  const open = await serve({ tools, http: { allowedHosts: "any", allowedOrigins: "any" } });
  expect(
    await statusFor(open.http.url, { ...json, host: "a.example", origin: "https://b.example" }),
  ).not.toBe(403);
});

it("refuses who does not authenticate, on every method [X-P-003 B-123]", async () => {
  const authenticate: Authenticate = async (sent) => sent.headers.get("authorization") ?? undefined;
  const { http } = await serve({ tools, http: { authenticate } });
  const peer = new StatelessClient(http.url);
  for (const method of ["tools/call", "tasks/get", "server/discover"]) {
    const { status, headers, id, error } = await peer.send(method, { name: "bare", taskId: "a" });
    expect([status, headers.get("www-authenticate"), id]).toEqual([401, "Bearer", null]);
    expect(error?.message).toBe("Authentication is required.");
  }
  // Nor in a session that somebody else has opened, by any method of HTTP.
  const ann = await SessionClient.open(http.url, { headers: { authorization: "ann" } });
  const stranger = new SessionClient(http.url);
  const statuses: number[] = [(await stranger.initialize()).status];
  stranger.sessionId = ann.sessionId;
  statuses.push((await stranger.post({ id: 1, method: "ping" })).status);
  for (const method of ["GET", "DELETE"]) statuses.push((await stranger.send(method)).status);
  expect(statuses).toEqual([401, 401, 401, 401]);
  expect(await ann.request("ping")).toMatchObject({ result: {} });
});

it.each([undefined, null])("refuses whom authentication knows as %s [X-P-003]", async (nobody) => {
  // Plain JavaScript may say null.
  const authenticate = (async () => nobody) as Authenticate;
  const { http, errors } = await serve({ tools, http: { authenticate } });
  const { status, headers } = await new StatelessClient(http.url).call("bare");
  expect([status, headers.get("www-authenticate"), errors]).toEqual([401, "Bearer", []]);
});

it.each([
  ["throws", () => Promise.reject(new Error("directory down"))],
  ["names nobody", () => Promise.resolve("")],
])("serves nobody when authentication %s, and reports it", async (_, authenticate) => {
  const { http, errors } = await serve({ tools, http: { authenticate } });
  const { status, error } = await new StatelessClient(http.url).call("bare");
  expect([status, error]).toEqual([500, { code: -32603, message: "Internal error" }]);
  expect(errors).toHaveLength(1);
});

it("speaks an earlier version with who asks for it, where the extension's key enables nothing [X-P-016 X-P-017]", async () => {
  const { http } = await serve({ tools });
  const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
  const opened = await new EventStream(
    await new SessionClient(http.url, { capabilities }).initialize(),
  ).message();
  expect(opened).toMatchObject({ id: 0, result: { protocolVersion: "2025-11-25" } });
  expect(JSON.stringify(opened)).not.toContain("io.modelcontextprotocol/tasks");
});

it("has no stream to GET and no session to DELETE [X-B-022 B-P-002]", async () => {
  const { http } = await serve({ tools });
  const headers = { "mcp-protocol-version": "2026-07-28" };
  for (const method of ["GET", "DELETE"]) {
    expect((await fetch(http.url, { method, headers })).status).toBe(405);
  }
  const peer = new StatelessClient(http.url);
  expect(
    (await peer.call("bare", {}, { headers: { "Mcp-Session-Id": "old", "Last-Event-ID": "1" } })).status,
  ).toBe(200);
});

it("refuses what is no JSON, and what is too large [B-063]", async () => {
  const { http } = await serve({ tools, http: { maxRequestBodySize: 1000 } });
  const status = async (body: string, headers = json): Promise<number> =>
    (await fetch(http.url, { method: "POST", headers, body })).status;
  expect(await status("{")).toBe(400);
  expect(await status("{}", { "content-type": "text/plain" })).toBe(415);
  expect(await status(" ".repeat(1001))).toBe(413);
});

it("takes arguments as large as the tasks take", async () => {
  const maxBodyBytes = 5 * 1024 * 1024; // more than the SDK's own limit
  const peer = await StatelessClient.of({ tools, options: { maxBodyBytes } });
  expect((await peer.call("bare", { text: "x".repeat(maxBodyBytes - 100) })).result).toMatchObject({
    resultType: "task",
  });
  const { error } = await peer.call("bare", { text: "x".repeat(maxBodyBytes) });
  expect(error?.message).toContain("larger than");
});

it("tells a load balancer that it is there, and nothing else outside its path [B-122]", async () => {
  const { http } = await serve({ tools, http: { path: "/tools/mcp" } });
  const base = new URL(http.url).origin;
  const health = await fetch(`${base}/healthz`);
  expect([health.status, await health.text()]).toEqual([200, "ok"]);
  expect((await fetch(`${base}/mcp`, { method: "POST", headers: json, body: "{}" })).status).toBe(404);
  expect(http.url).toBe(`http://127.0.0.1:${http.port}/tools/mcp`);
  expect((await new StatelessClient(http.url).call("bare")).status).toBe(200);
});

import type { Tasks } from "holdfast";
import type { HttpOptions } from "holdfast/http";
import { expect, it } from "vitest";
import { text, withTasks } from "../../kit/messages.ts";
import { serve, type Served } from "../../kit/server.ts";
import { EventStream, SessionClient } from "../../kit/session-client.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";

const tools = (tasks: Tasks): void => void tasks.tool("bare", {}, () => text("bare"));
const app = "https://app.example";
const origin = { origin: app };

function serveApp(http: HttpOptions = {}): Promise<Served> {
  return serve({ tools, http: { cors: { origins: [app] }, ...http } });
}

function ask(url: string, from = app, headers = "content-type"): Promise<Response> {
  return fetch(url, {
    method: "OPTIONS",
    headers: {
      origin: from,
      "access-control-request-method": "POST",
      "access-control-request-headers": headers,
    },
  });
}

/** What lets a page of `app` read an answer. */
function readable({ headers }: { headers: Headers }): void {
  expect(headers.get("access-control-allow-origin")).toBe(app);
  expect(headers.get("access-control-expose-headers")).toBe("Mcp-Session-Id, WWW-Authenticate, Retry-After");
  expect(headers.get("vary")).toMatch(/\bOrigin$/);
  expect(headers.get("access-control-allow-credentials")).toBeNull();
}

it("tells a page that it may send what clients of both eras send [B-125 B-126]", async () => {
  const { http } = await serveApp({ authenticate: async () => undefined });
  const asked = "content-type, mcp-param-region, x-other, Mcp-Param-Size, mcp-param-";
  const answer = await ask(http.url, app, asked);
  expect([answer.status, await answer.text()]).toEqual([204, ""]);
  readable(answer);
  expect(answer.headers.get("access-control-allow-methods")).toBe("GET, POST, DELETE");
  expect(answer.headers.get("access-control-allow-headers")).toBe(
    "Content-Type, Authorization, Accept, Mcp-Session-Id, MCP-Protocol-Version, Last-Event-ID, Mcp-Method, Mcp-Name, mcp-param-region, Mcp-Param-Size",
  );
  expect(answer.headers.get("access-control-max-age")).toBe("600");
  expect(answer.headers.get("vary")).toBe(
    "Access-Control-Request-Method, Access-Control-Request-Headers, Origin",
  );
});

it("lets a page of 2026-07-28 read answers, refusals and streams", async () => {
  const { http } = await serveApp();
  const peer = new StatelessClient(http.url);
  readable(await peer.call("bare", {}, { headers: origin }));
  const unknown = await peer.send("tasks/get", { taskId: "none" }, { headers: origin });
  expect(unknown.error).toBeDefined();
  readable(unknown);
  readable(await fetch(http.url, { method: "POST", headers: { ...origin, "content-type": "text/plain" } }));
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": withTasks,
  };
  const params = { notifications: { toolsListChanged: true }, _meta };
  const stream = await fetch(http.url, {
    method: "POST",
    headers: {
      ...origin,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "subscriptions/listen",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params }),
  });
  expect(stream.headers.get("content-type")).toBe("text/event-stream");
  readable(stream);
  await stream.body?.cancel();
});

it("lets a page of 2025-11-25 read answers, refusals and streams", async () => {
  const { http } = await serveApp();
  const peer = new SessionClient(http.url, { headers: origin });
  const opened = await peer.initialize();
  expect(opened.headers.get("content-type")).toBe("text/event-stream");
  readable(opened);
  expect(await new EventStream(opened).message()).toHaveProperty("result");
  peer.sessionId = opened.headers.get("mcp-session-id") ?? "";
  readable(await peer.post({ method: "notifications/initialized" }));
  const { response } = await peer.listen();
  readable(response);
  await response.body?.cancel();
  peer.sessionId = "unknown";
  const refused = await peer.post({ id: 1, method: "ping" });
  expect(refused.status).toBe(404);
  readable(refused);
});

it("lets a page read that it has to say who it is for", async () => {
  const { http } = await serveApp({ authenticate: async () => undefined });
  const refused = await new StatelessClient(http.url).call("bare", {}, { headers: origin });
  expect(refused.status).toBe(401);
  readable(refused);
});

it("lets other pages read nothing, nor send anything from elsewhere", async () => {
  const { http } = await serveApp();
  for (const foreign of ["https://evil.example", "http://app.example", "https://app.example:8443", "null"]) {
    for (const answer of [
      await ask(http.url, foreign),
      await fetch(http.url, { method: "POST", headers: { origin: foreign } }),
    ]) {
      expect([foreign, answer.status]).toEqual([foreign, 403]);
      expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    }
  }
  // Pages of this machine may send, as without CORS, and read nothing.
  const local = await new StatelessClient(http.url).call(
    "bare",
    {},
    { headers: { origin: "http://localhost:5173" } },
  );
  expect([local.status, local.headers.get("vary")]).toEqual([200, "Origin"]);
  expect(local.headers.get("access-control-allow-origin")).toBeNull();
});

it("does not let a page in by a name of its own for this machine", async () => {
  const handler = await serveApp({ allowedHosts: ["reports.example"] });
  expect((await ask(handler.http.url)).status).toBe(403);
});

it("says nothing of other pages where it was told nothing of them", async () => {
  const { http } = await serve({ tools });
  const local = { origin: "http://localhost:5173" };
  const answers = [
    await ask(http.url, local.origin),
    await new StatelessClient(http.url).call("bare", {}, { headers: local }),
  ];
  for (const { headers } of answers) {
    expect(
      [...headers.keys()].filter((name) => name.startsWith("access-control") || name === "vary"),
    ).toEqual([]);
  }
});

it("lets every page read where it was told so, and pages with cookies where those are named", async () => {
  const open = await serveApp({ cors: { origins: "any" }, allowedOrigins: "any" });
  const any = await new StatelessClient(open.http.url).call(
    "bare",
    {},
    { headers: { origin: "https://who.example" } },
  );
  expect([any.headers.get("access-control-allow-origin"), any.headers.get("vary")]).toEqual(["*", null]);
  const named = await serveApp({ cors: { origins: [app], credentials: true, maxAgeS: 5 } });
  const asked = await ask(named.http.url);
  expect(asked.headers.get("access-control-allow-credentials")).toBe("true");
  expect(asked.headers.get("access-control-max-age")).toBe("5");
});

it.each<[string, HttpOptions]>([
  ["every page beside an Origin check", { cors: { origins: "any" } }],
  ["every page with cookies", { cors: { origins: "any", credentials: true }, allowedOrigins: "any" }],
  ["a host without a scheme", { cors: { origins: ["app.example"] } }],
  ["an origin with a path", { cors: { origins: ["https://app.example/"] } }],
  ["an origin in capitals", { cors: { origins: ["https://App.example"] } }],
  ["a pattern", { cors: { origins: ["https://*"] } }],
  ["nowhere", { cors: { origins: ["null"] } }],
  ["an age below 0", { cors: { origins: [app], maxAgeS: -1 } }],
])("refuses %s", async (_, http) => {
  await expect(serve({ tools, http })).rejects.toMatchObject({ code: "configuration" });
});

it("takes the origin of a browser extension", async () => {
  const extension = "chrome-extension://abcdefghijklmnop";
  const { http } = await serveApp({ cors: { origins: [extension] } });
  const { status, headers } = await ask(http.url, extension);
  expect([status, headers.get("access-control-allow-origin")]).toEqual([204, extension]);
});

it.each([{}, origin])(
  "keeps answers from caches, and from being taken for something else",
  async (headers) => {
    const { http } = await serveApp();
    const opened = await new SessionClient(http.url, { headers }).initialize();
    const answers = [await new StatelessClient(http.url).call("bare", {}, { headers }), opened];
    for (const answer of [...answers, await fetch(new URL("/nowhere", http.url), { headers })]) {
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
      expect(answer.headers.get("cache-control")).toMatch(/^no-store\b/);
    }
    expect(opened.headers.get("cache-control")).toBe("no-store, no-cache, no-transform");
    await opened.text();
  },
);

import { once } from "node:events";
import { request as send, type IncomingMessage } from "node:http";
import { connect, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import express from "express";
import { oauthResource } from "holdfast/auth";
import { expect, it, onTestFinished } from "vitest";
import { head, RawConnection } from "../../kit/raw-connection.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { handlerOf, served } from "./mount.ts";

it("answers its own paths at the root of an application, and leaves it all others", async () => {
  const { handler, errors } = handlerOf();
  const app = express();
  app.use(handler);
  app.use((_, response) => void response.status(299).send("the application"));
  const { origin } = await served(app);
  const status = async (path: string, init?: RequestInit): Promise<number> =>
    (await fetch(`${origin}${path}`, init)).status;
  expect((await new StatelessClient(`${origin}/mcp`).call("bare")).status).toBe(200);
  expect((await new StatelessClient(`${origin}/mcp?a=b`).call("bare")).status).toBe(200);
  expect(await Promise.all(["/healthz", "/readyz"].map((path) => status(path)))).toEqual([200, 200]);
  const others = ["/", "/mcp/more", "/api", "/.well-known/oauth-protected-resource"];
  expect(await Promise.all(others.map((path) => status(path)))).toEqual(others.map(() => 299));
  expect(await status("/healthz", { method: "POST", body: "{}" })).toBe(299);
  expect(errors).toEqual([]);
});

it.each<[string, (app: express.Express, handler: express.RequestHandler) => unknown]>([
  ["a mount of its own path", (app, handler) => app.use("/api/mcp", handler)],
  ["a mount above it", (app, handler) => app.use("/api", handler)],
  ["a route", (app, handler) => app.all("/api/mcp", handler)],
  ["a router", (app, handler) => app.use("/api", express.Router().use("/mcp", handler))],
])("is found by its whole path through %s", async (_, mount) => {
  const { handler } = handlerOf({ http: { path: "/api/mcp" } });
  const app = express();
  mount(app, handler);
  const { origin } = await served(app);
  expect((await new StatelessClient(`${origin}/api/mcp`).call("bare")).status).toBe(200);
});

it.each<[string, (app: express.Express, handler: express.RequestHandler) => unknown]>([
  ["mount", (app, handler) => app.use("/api/mcp", handler)],
  ["route", (app, handler) => app.post("/api/mcp", handler)],
])("names the option where a %s leads to another path than it has", async (_, mount) => {
  const { handler } = handlerOf();
  const app = express();
  mount(app, handler);
  const { origin } = await served(app);
  const { status, error } = await new StatelessClient(`${origin}/api/mcp`).call("bare");
  expect([status, error?.message]).toEqual([
    404,
    "Nothing is served at /api/mcp. The MCP endpoint is at /mcp (option path).",
  ]);
});

it("leaves an application its paths where a route was matched on the way", async () => {
  const { handler } = handlerOf();
  const app = express();
  app.all("/{*any}", (_request, _response, next) => next());
  app.use(handler);
  app.use((_, response) => void response.status(299).send("the application"));
  const { origin } = await served(app);
  expect((await fetch(`${origin}/other`)).status).toBe(299);
  expect((await new StatelessClient(`${origin}/mcp`).call("bare")).status).toBe(200);
});

it.each(["/./mcp", "/a/../mcp", "/a/%2e%2E/mcp", "/a\\..\\mcp", "/mcp/."])(
  "does not take %s for its path, which a guard of that path has not seen",
  async (path) => {
    const { handler } = handlerOf();
    const app = express();
    app.use("/mcp", (_, response) => void response.status(401).end());
    app.use((incoming, outgoing) => handler(incoming, outgoing));
    const { port } = await served(app);
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
    };
    const initialize = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "a", version: "1" },
    };
    const sent = send({ host: "127.0.0.1", port, path, method: "POST", headers });
    sent.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: initialize }));
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode).toSatisfy((status) => status === 400 || status === 401);
  },
);

it("serves the metadata of its own resource, and leaves those of others", async () => {
  const resource = (path: string) => {
    const verifier = { verifyAccessToken: () => Promise.reject(new Error("never asked")) };
    const url = new URL(path, "https://reports.example.com");
    const authenticate = oauthResource({
      resource: url,
      authorizationServers: ["https://a.example"],
      verifier,
    });
    return handlerOf({ http: { path, authenticate } }).handler;
  };
  const app = express();
  app.use(resource("/one"), resource("/two"));
  const { origin } = await served(app);
  for (const path of ["/one", "/two"]) {
    const answer = await fetch(`${origin}/.well-known/oauth-protected-resource${path}`);
    expect(await answer.json()).toMatchObject({ resource: `https://reports.example.com${path}` });
    expect((await new StatelessClient(`${origin}${path}`).call("bare")).status).toBe(401);
  }
});

it("refuses hosts and origins that it was not told of, and says which option lets them in", async () => {
  const { handler } = handlerOf();
  const { port } = await served(handler);
  const refusal = async (...lines: string[]): Promise<string | undefined> => {
    const raw = await RawConnection.to(
      port,
      ["POST /mcp HTTP/1.1", ...lines, "Content-Length: 0", "", ""].join("\r\n"),
    );
    expect(await raw.statuses()).toEqual([403]);
    while (!raw.received.includes('"}}')) await once(raw.socket, "data");
    const [json = "{}"] = /\{"jsonrpc.*/.exec(raw.received) ?? [];
    return (JSON.parse(json) as { error: { message: string } }).error.message;
  };
  expect(await refusal("Host: reports.example.com:8443")).toBe(
    'Host "reports.example.com" is not allowed: add "reports.example.com" to the option allowedHosts.',
  );
  expect(await refusal("Host: localhost", "Origin: https://app.example.com")).toBe(
    'Origin "https://app.example.com" is not allowed: add "app.example.com" to the option allowedOrigins, or "https://app.example.com" to cors.',
  );
  expect(await refusal("Host: localhost", "Origin: null")).toContain('allowedOrigins: "any"');
});

it("holds connections to its limits on a server that is not its own", async () => {
  const { handler } = handlerOf({ http: { maxHeaders: 10 } });
  const { port } = await served(handler);
  const status = async (...lines: string[]): Promise<number[]> =>
    (await RawConnection.to(port, head("Content-Length: 0", ...lines))).statuses();
  expect(await status(...Array.from({ length: 10 }, (_, n) => `X-${n}: 1`))).toEqual([431]);
  expect(await status("Origin: http://localhost", "Origin: http://localhost")).toEqual([400]);
  const pipelined = await RawConnection.to(port, head("Content-Length: 0").repeat(200));
  await pipelined.closed;
});

it("hangs up on a body that does not come", async () => {
  const { handler } = handlerOf({ http: { requestTimeoutMs: 50 } });
  const { port } = await served(handler);
  const raw = await RawConnection.to(port, `${head("Content-Length: 100")}{`);
  expect(await raw.statuses()).toEqual([408]);
  await raw.closed;
});

it("sets its headers once, whatever middleware has set before", async () => {
  const { handler } = handlerOf();
  const { origin } = await served((request, response) => {
    response.setHeader("X-Content-Type-Options", "nosniff").setHeader("Cache-Control", "public");
    response.setHeader("Vary", "Cookie").setHeader("X-Own", "kept");
    handler(request, response);
  });
  const peer = new StatelessClient(`${origin}/mcp`);
  await peer.call("bare");
  const { headers } = await peer.call("bare");
  const shown = ["x-content-type-options", "cache-control", "vary", "x-own"].map((name) => headers.get(name));
  expect(shown).toEqual(["nosniff", "no-store", "Cookie", "kept"]);
});

it("leaves it to the client of a stream whether its connection stays", async () => {
  const { handler } = handlerOf();
  const { port } = await served(handler);
  const { sessionId = "" } = await SessionClient.open(`http://127.0.0.1:${port}/mcp`);
  const raw = await RawConnection.to(
    port,
    [
      "GET /mcp HTTP/1.1",
      "Host: localhost",
      "Connection: close",
      "Accept: text/event-stream",
      `Mcp-Session-Id: ${sessionId}`,
      "",
      "",
    ].join("\r\n"),
  );
  expect(await raw.statuses()).toEqual([200]);
  expect(raw.received.toLowerCase()).toContain("connection: close\r\n");
  raw.socket.destroy();
});

it("refuses HTTP/2, which it cannot hold to its limits", async () => {
  const { handler } = handlerOf();
  const server = createServer((request, response) => handler(request as never, response as never));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  const [headers] = (await once(client.request({ ":path": "/mcp" }), "response")) as [
    Record<string, unknown>,
  ];
  expect(headers[":status"]).toBe(505);
});

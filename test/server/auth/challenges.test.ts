import { OAuthError, OAuthErrorCode } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { oauthResource, type OAuthResourceOptions } from "holdfast/auth";
import { introspectionVerifierBy } from "../../../src/server/auth/introspection-verifier.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { audience, AuthorizationServer, keyPair, outage } from "./authorization-server.ts";
import { metadataUrl, protectedServer } from "./protected-server.ts";

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "desk", version: "1" } },
};

/** A request of an earlier revision, which has the fewest headers. */
function send(url: string, headers: Record<string, string>, init: RequestInit = {}): Promise<Response> {
  const all = new Headers(headers);
  all.set("content-type", "application/json");
  all.set("accept", "application/json, text/event-stream");
  return fetch(url, { method: "POST", headers: all, body: JSON.stringify(initialize), ...init });
}

function challengeOf(response: { status: number; headers: Headers }): [number, string | null] {
  return [response.status, response.headers.get("www-authenticate")];
}

const resourceMetadata = `resource_metadata="${metadataUrl}"`;

it.each(["", "Basic YW5uOnB3", "Bearerx", "Token abc"])(
  "says how to come by a token, where none came: %j",
  async (authorization) => {
    const { url } = await protectedServer({ scopes: { required: ["mcp", "tasks"] } });
    const response = await send(url, authorization === "" ? {} : { authorization });
    expect(challengeOf(response)).toEqual([401, `Bearer scope="mcp tasks", ${resourceMetadata}`]);
    expect(await response.json()).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: -32600 } });
  },
);

it.each([
  "Bearer",
  "Bearer ",
  "Bearer a b",
  "Bearer a,b",
  "Bearer a, Bearer b",
  'Bearer "a"',
  "Bearer =",
  "Bearer ä",
])("refuses a token in a form that is none: %j", async (authorization) => {
  const { url } = await protectedServer();
  const error = `error="invalid_token", error_description="The token is malformed"`;
  expect(challengeOf(await send(url, { authorization }))).toEqual([
    401,
    `Bearer ${error}, ${resourceMetadata}`,
  ]);
});

it("takes the name of the scheme in any case, as HTTP has it", async () => {
  const { url, issuer } = await protectedServer();
  for (const scheme of ["Bearer", "bearer", "BEARER  "]) {
    const response = await send(url, { authorization: `${scheme} ${await issuer.token()}` });
    expect(response.status).toBe(200);
    await response.body?.cancel();
  }
});

it("says why a token is refused, in both eras", async () => {
  const { url, issuer } = await protectedServer();
  const authorization = `Bearer ${await issuer.token({ exp: issuer.now - 60 })}`;
  const expected = `Bearer error="invalid_token", error_description="The token has expired", ${resourceMetadata}`;
  expect(challengeOf(await send(url, { authorization }))).toEqual([401, expected]);
  const newest = await new StatelessClient(url).send(
    "tasks/get",
    { taskId: "x" },
    { headers: { authorization } },
  );
  expect(challengeOf(newest)).toEqual([401, expected]);
  for (const method of ["GET", "DELETE"]) {
    const response = await fetch(url, { method, headers: { authorization, "mcp-session-id": "x" } });
    expect(challengeOf(response)).toEqual([401, expected]);
  }
});

it("refuses a token in the URL, even beside one in the header", async () => {
  const { url, issuer } = await protectedServer();
  const token = await issuer.token();
  for (const headers of [{}, { authorization: `Bearer ${token}` }]) {
    const response = await send(`${url}?access_token=${token}`, headers);
    const error = `error="invalid_request", error_description="Tokens must not be sent in the URL"`;
    expect(challengeOf(response)).toEqual([400, `Bearer ${error}, ${resourceMetadata}`]);
    expect(await response.text()).not.toContain(token);
  }
});

it("says that it does not know, and not that the token is bad, while the keys cannot be read", async () => {
  const { url, issuer, reported } = await protectedServer();
  issuer.instead = outage;
  const token = await issuer.token();
  const response = await send(url, { authorization: `Bearer ${token}` });
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(response.headers.get("www-authenticate")).toBeNull();
  expect(await response.text()).not.toContain(issuer.issuer);
  expect(reported()).toContain("status 500");
  expect(reported()).not.toContain(token);
});

it("reports what a verifier or principal of the author's own fails with, and tells the caller nothing", async () => {
  const failing = (): never => {
    throw new Error("a bug");
  };
  for (const broken of [
    { verifier: { verifyAccessToken: failing } },
    { principal: failing },
    { principal: () => "" },
  ]) {
    const { url, as, reported } = await protectedServer(broken);
    const response = await send(url, (await as("ann")).headers);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("a bug");
    expect(reported()).toMatch(/a bug|without a principal/);
  }
});

it("keeps what a verifier of the author's own says inside its quotes", async () => {
  const verifyAccessToken = (): never => {
    throw new OAuthError(OAuthErrorCode.InvalidToken, 'no\r\n", scope="\\ü');
  };
  const { url, as } = await protectedServer({ verifier: { verifyAccessToken } });
  const response = await send(url, (await as("ann")).headers);
  const quoted = String.raw`no  \", scope=\"\\ `;
  expect(challengeOf(response)).toEqual([
    401,
    `Bearer error="invalid_token", error_description="${quoted}", ${resourceMetadata}`,
  ]);
});

it("wants a subject, where the author does not name the principal by something else", async () => {
  const { url, issuer } = await protectedServer();
  const authorization = `Bearer ${await issuer.token({ sub: undefined as never, client_id: "robot" })}`;
  expect((await send(url, { authorization })).status).toBe(401);
  const other = await protectedServer({ principal: ({ clientId }) => clientId });
  const robot = `Bearer ${await other.issuer.token({ sub: undefined as never, client_id: "robot" })}`;
  expect((await send(other.url, { authorization: robot })).status).toBe(200);
});

const wellKnown = "/.well-known/oauth-protected-resource";

it.each([wellKnown, `${wellKnown}/mcp`, `${wellKnown}/mcp/`])(
  "publishes its metadata at %s",
  async (path) => {
    const { url, issuer } = await protectedServer({
      scopes: { required: ["mcp"], tools: { shout: ["shout"] } },
      name: "Reports",
      documentation: new URL("https://reports.example.com/docs"),
    });
    const response = await fetch(new URL(path, url), {
      headers: { origin: "https://elsewhere.example.com" },
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(await response.json()).toEqual({
      resource: audience,
      authorization_servers: [issuer.issuer],
      bearer_methods_supported: ["header"],
      scopes_supported: ["mcp"],
      resource_name: "Reports",
      resource_documentation: "https://reports.example.com/docs",
    });
  },
);

it("answers a browser's question before, HEAD, and nothing else", async () => {
  const { url } = await protectedServer();
  const at = new URL(wellKnown, url);
  const preflight = await fetch(at, {
    method: "OPTIONS",
    headers: { "access-control-request-headers": "mcp-protocol-version" },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-headers")).toBe("mcp-protocol-version");
  const head = await fetch(at, { method: "HEAD" });
  expect([head.status, head.headers.get("content-type"), await head.text()]).toEqual([
    200,
    "application/json",
    "",
  ]);
  expect((await fetch(at, { method: "POST" })).status).toBe(405);
  expect((await fetch(new URL(`${wellKnown}/other`, url))).status).toBe(404);
});

it("offers to clients what it is told to", async () => {
  const { url } = await protectedServer({ scopes: { tools: { shout: ["shout"] }, advertised: ["shout"] } });
  const response = await fetch(new URL(wellKnown, url));
  expect(await response.json()).toMatchObject({ scopes_supported: ["shout"] });
});

it.each<Partial<OAuthResourceOptions>>([
  { resource: new URL("https://reports.example.com/mcp#top") },
  { resource: new URL("file:///mcp") },
  { authorizationServers: [] },
  { authorizationServers: ["login"] },
  { scopes: { required: ["a b"] } },
  { scopes: { tools: { shout: [""] } } },
  { scopes: { tasks: ['a"b'] } },
])("refuses the options %j", (options) => {
  const verifier = { verifyAccessToken: () => Promise.reject(new Error("unused")) };
  const authorizationServers = ["https://login.example.com"];
  expect(() =>
    oauthResource({ resource: new URL(audience), authorizationServers, verifier, ...options }),
  ).toThrow(expect.objectContaining({ code: "configuration" }));
});

it.each([null, "token", {}, { verifyAccessToken: () => undefined }])(
  "is nothing that serves: %j",
  async (value) => {
    await expect(protectedServer({}, { http: { authenticate: value as never } })).rejects.toMatchObject({
      code: "configuration",
    });
  },
);

it("refuses a token of a key that is not among those that were read, and fills no log with it", async () => {
  const { url, issuer, reported } = await protectedServer();
  const sendAs = async (name: string): Promise<Response> => {
    const token = await issuer.token({}, await keyPair("ES256", name));
    return send(url, { authorization: `Bearer ${token}` });
  };
  expect((await sendAs("made-up")).status).toBe(401); // the keys were read for it
  const again = await sendAs("new");
  expect([again.status, again.headers.get("www-authenticate")]).toEqual([
    401,
    expect.stringContaining('error="invalid_token"'),
  ]);
  expect(reported()).toContain("length]: 0");
});

it("asks to come again where too many tokens are being asked for, and fills no log with it", async () => {
  const endpoint = await AuthorizationServer.start();
  const held = Promise.withResolvers<() => void>();
  endpoint.instead = (response) => held.resolve(() => void response.end('{"active":false}'));
  const { clock, issuer, introspection: url } = endpoint;
  const asking = { url, issuer, audience, clientId: "reports", clientSecret: "secret", maxConcurrent: 1 };
  const { url: server, reported } = await protectedServer({
    verifier: introspectionVerifierBy(clock, asking),
  });
  const first = send(server, { authorization: "Bearer made-up" });
  const release = await held.promise;
  const second = await send(server, { authorization: "Bearer made-up-too" });
  expect([second.status, second.headers.get("retry-after")]).toEqual([503, "5"]);
  release();
  expect((await first).status).toBe(401);
  expect(reported()).toContain("length]: 0");
});

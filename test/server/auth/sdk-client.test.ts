import {
  Client,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { McpServer, requireScopes } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { oauthResource } from "holdfast/auth";
import { createFetchHandler } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../../kit/messages.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { audience } from "./authorization-server.ts";
import { metadataUrl, protectedServer } from "./protected-server.ts";

it("is understood by the SDK's client, which finds the authorization server", async () => {
  const { url, as, issuer } = await protectedServer({ scopes: { required: ["a", "b"] } });
  const none = await fetch(url, { method: "POST" });
  expect(extractWWWAuthenticateParams(none)).toEqual({
    resourceMetadataUrl: new URL(metadataUrl),
    scope: "a b",
  });
  const less = await fetch(url, { method: "POST", headers: (await as("ann", "a")).headers });
  expect(extractWWWAuthenticateParams(less)).toMatchObject({ scope: "a b", error: "insufficient_scope" });
  expect(await discoverOAuthProtectedResourceMetadata(url)).toMatchObject({
    resource: audience,
    authorization_servers: [issuer.issuer],
  });
});

it("serves the SDK's client, which shows a token of its own", async () => {
  const { url, issuer } = await protectedServer();
  const client = new Client({ name: "desk", version: "1" });
  const authProvider = { token: async () => issuer.token() };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider }));
  onTestFinished(() => client.close());
  expect(await client.callTool({ name: "shout", arguments: { word: "a" } })).toMatchObject(text("a"));
});

it("protects a fetch handler as well", async () => {
  const verifier = { verifyAccessToken: () => Promise.reject(new Error("unused")) };
  const tasks = createTasks({ store: memoryStore() });
  const handler = createFetchHandler(
    tasks.server(() => new McpServer({ name: "reports", version: "1.2.3" })),
    {
      authenticate: oauthResource({
        resource: new URL(audience),
        authorizationServers: [audience],
        verifier,
      }),
    },
  );
  const refused = await handler.fetch(
    new Request("http://localhost/mcp", { method: "POST", headers: { host: "localhost" } }),
  );
  expect([refused.status, extractWWWAuthenticateParams(refused).resourceMetadataUrl?.href]).toEqual([
    401,
    metadataUrl,
  ]);
  const document = await handler.fetch(
    new Request(new URL(new URL(metadataUrl).pathname, "http://localhost")),
  );
  expect(await document.json()).toMatchObject({ resource: audience });
});

it("leaves tools to the SDK that an author guards by himself", async () => {
  const { url, as, session } = await protectedServer(
    {},
    {
      server: (mcp) => mcp.registerTool("own", { scopeChallenge: requireScopes("own") }, () => text("own")),
    },
  );
  const refused = await new StatelessClient(url)
    .call("own", {}, await as("ann"))
    .catch((error: unknown) => error);
  const inSession = await (
    await session("ann")
  ).post({ id: 9, method: "tools/call", params: { name: "own" } });
  for (const response of [refused as { status: number; headers: Headers }, inSession]) {
    expect(response.status).toBe(403);
    const challenge = response.headers.get("www-authenticate");
    expect(challenge).toContain('scope="own"');
    expect(challenge).toContain(metadataUrl);
  }
  expect((await new StatelessClient(url).call("own", {}, await as("ann", "own"))).result).toMatchObject(
    text("own"),
  );
});

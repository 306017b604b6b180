import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ClientCredentialsProvider, type FetchLike } from "@modelcontextprotocol/client";
import { connect, logIn, memoryLogins } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { connectWith } from "../../../src/client/connect.ts";
import { loginName } from "../../../src/client/auth/login.ts";
import { FakeClock } from "../fake-clock.ts";
import { connected, loggedIn, loud, shouted } from "./connected.ts";
import { protectedBy } from "./protected.ts";

const robot = { id: "robot", secret: "s3cret" };

it("renews a token once for many requests, and sends them again [B-037]", async () => {
  const { url, oauth } = await protectedBy();
  const client = await connected(url, await loggedIn(url));
  oauth.expireAll();
  const before = oauth.times("/token");
  const results = await Promise.all(Array.from({ length: 20 }, async () => shouted(client)));
  expect(results).toEqual(results.map(() => loud));
  expect(oauth.times("/token")).toBe(before + 1);
  oauth.expireAll();
  expect(await shouted(client)).toEqual(loud); // the refresh token that came with the second token
});

it("renews a token before its end", async () => {
  const { url, oauth } = await protectedBy();
  const store = await loggedIn(url);
  const clock = new FakeClock(Date.now());
  const client = await connectWith(url, { auth: store, listen: false }, clock);
  onTestFinished(async () => client.close());
  expect(oauth.times("/token")).toBe(1);
  clock.set(3_595_000);
  expect(await shouted(client)).toEqual(loud);
  expect(oauth.times("/token")).toBe(2);
});

it("uses a token to its end while the authorization server does not answer", async () => {
  const { url, oauth } = await protectedBy();
  const clock = new FakeClock(Date.now());
  const client = await connectWith(url, { auth: await loggedIn(url), listen: false }, clock);
  onTestFinished(async () => client.close());
  oauth.instead = (response) => void response.writeHead(503).end();
  clock.set(3_595_000);
  expect(await shouted(client)).toEqual(loud);
});

it("shares one login between two clients: whoever comes second takes the token of the first", async () => {
  const { url, oauth } = await protectedBy();
  const store = await loggedIn(url);
  const clients = [await connected(url, store), await connected(url, store)];
  oauth.expireAll();
  expect(await Promise.all(clients.map(shouted))).toEqual([loud, loud]);
  expect(oauth.times("/token")).toBe(2);
});

it("says so, and forgets the login, when it has ended at the authorization server", async () => {
  const { url, oauth } = await protectedBy();
  const store = await loggedIn(url);
  const client = await connected(url, store);
  oauth.revokeAll();
  await expect(shouted(client)).rejects.toMatchObject({
    code: "unauthorized",
    message: expect.stringContaining("is no longer valid") as string,
  });
  expect(await store.load(loginName(new URL(url)))).toBeUndefined();
});

it("waits on through an outage of the authorization server, and keeps the login", async () => {
  const { url, oauth } = await protectedBy();
  const client = await connected(url, await loggedIn(url), { listen: false, pollFloorMs: 1 });
  const handle = await client.startTool("waits", {});
  oauth.expireAll();
  const tried = Promise.withResolvers<void>();
  oauth.instead = (response) => {
    response.writeHead(503).end();
    tried.resolve();
  };
  const ended = handle.result();
  await tried.promise;
  oauth.instead = undefined;
  await handle.cancel();
  await expect(ended).rejects.toMatchObject({ code: "cancelled" });
});

it("takes a provider of the SDK, and asks it once for many requests", async () => {
  const { url, oauth } = await protectedBy();
  oauth.clients.set(robot.id, { ...robot, redirectUris: [] });
  const provider = new ClientCredentialsProvider({
    clientId: robot.id,
    clientSecret: robot.secret,
    expectedIssuer: oauth.issuer,
  });
  const client = await connected(url, provider);
  expect(await shouted(client)).toEqual(loud);
  oauth.expireAll();
  const before = oauth.times("/token");
  await Promise.all(Array.from({ length: 20 }, async () => shouted(client)));
  expect(oauth.times("/token")).toBe(before + 1);
});

it("asks for more scopes when a tool wants them, as a provider of the SDK and as a client of its own", async () => {
  const { url, oauth } = await protectedBy({}, { scopes: { tools: { shout: ["loud"] } } });
  oauth.clients.set(robot.id, { ...robot, redirectUris: [] });
  const provider = new ClientCredentialsProvider({
    clientId: robot.id,
    clientSecret: robot.secret,
    expectedIssuer: oauth.issuer,
    scope: "quiet",
  });
  expect(await shouted(await connected(url, provider))).toEqual(loud);
  const store = memoryLogins();
  await logIn(url, { store, flow: "client", client: robot, scope: "quiet" });
  expect(await shouted(await connected(url, store))).toEqual(loud);
  expect(oauth.last("/token").get("scope")).toBe("quiet loud");
});

it("says which scopes a user's login lacks", async () => {
  const { url } = await protectedBy({}, { scopes: { tools: { shout: ["loud"] } } });
  const client = await connected(url, await loggedIn(url, "quiet"));
  await expect(shouted(client)).rejects.toMatchObject({
    code: "unauthorized",
    message: expect.stringContaining('"quiet loud"') as string,
  });
});

it("keeps the stream of a session of 2025-11-25 open with the token of the moment", async () => {
  const { url, oauth } = await protectedBy();
  const refused: number[] = [];
  const fetchIt: FetchLike = async (target, init) => {
    const response = await fetch(target, init);
    if (init?.method === "GET" && String(target) === url) refused.push(response.status);
    return response;
  };
  const store = await loggedIn(url);
  oauth.expireAll(); // so that even the first request needs another one
  const client = await connected(url, store, { protocolVersion: "2025-11-25", fetch: fetchIt });
  expect(await shouted(client)).toEqual(loud);
  await expect.poll(() => refused).toEqual([200]);
});

it("shows its token to the origin of its server alone", async () => {
  const seen: (string | undefined)[] = [];
  const other = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(404).end();
  });
  const redirecting = createServer((_request, response) => {
    const { port } = other.address() as AddressInfo;
    response.writeHead(307, { location: `http://127.0.0.1:${port}/mcp` }).end();
  });
  for (const server of [other, redirecting]) {
    await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
    onTestFinished(() => void server.close());
  }
  const url = new URL(`http://127.0.0.1:${(redirecting.address() as AddressInfo).port}/mcp`);
  const protectedServer = await protectedBy();
  const login = await (await loggedIn(protectedServer.url)).load(loginName(new URL(protectedServer.url)));
  const store = memoryLogins();
  if (login !== undefined) await store.save(loginName(url), login);
  await expect(connect(url, { auth: store })).rejects.toMatchObject({ code: "connection" });
  expect(seen.filter((authorization) => authorization !== undefined)).toEqual([]);
});

it("keeps a token that no header can carry out of its error", async () => {
  const { url } = await protectedBy();
  const store = await loggedIn(url);
  const name = loginName(new URL(url));
  const login = await store.load(name);
  if (login !== undefined) await store.save(name, { ...login, accessToken: "s3cret\n" });
  for (const options of [{ auth: store }, { token: "s3cret\n" }, { token: () => "s3cret\n" }]) {
    await expect(connect(url, options)).rejects.toMatchObject({
      code: "unauthorized",
      message: expect.stringMatching(/^(?!.*s3cret).*a header cannot contain/) as string,
    });
  }
});

it("cannot be combined with a token", async () => {
  const auth = memoryLogins();
  await expect(connect("http://127.0.0.1:1/mcp", { auth, token: "t" })).rejects.toThrow(RangeError);
  const headers = { Authorization: "Basic x" };
  await expect(connect("http://127.0.0.1:1/mcp", { auth, headers })).rejects.toThrow(RangeError);
});

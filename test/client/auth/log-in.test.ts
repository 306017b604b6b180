import { connect, logIn, logOut, memoryLogins, TaskClientError, type LogInOptions } from "holdfast/client";
import { expect, it } from "vitest";
import { logInBy } from "../../../src/client/auth/log-in.ts";
import { FakeClock } from "../fake-clock.ts";
import { connected, loud, shouted, visits } from "./connected.ts";
import { protectedBy } from "./protected.ts";

it("logs in with a browser, as a client that it registers, and calls tools then [B-037]", async () => {
  const { url, oauth } = await protectedBy({ metadataDocuments: false });
  const store = memoryLogins();
  const login = await logIn(url, { store, onAddress: visits, scope: "tools" });
  expect(login).toMatchObject({ issuer: oauth.issuer, resource: url, scope: "tools" });
  expect(oauth.last("/token").get("resource")).toBe(url);
  expect(oauth.last("/authorize").get("code_challenge_method")).toBe("S256");
  expect(oauth.times("/register")).toBe(1);
  expect(await shouted(await connected(url, store))).toEqual(loud);
});

it("is described by a document where the server takes that", async () => {
  const { url, oauth } = await protectedBy();
  const store = memoryLogins();
  const clientMetadataUrl = "https://desk.example.com/client.json";
  await logIn(url, { store, onAddress: visits, clientMetadataUrl });
  expect(oauth.last("/authorize").get("client_id")).toBe(clientMetadataUrl);
  expect(oauth.times("/register")).toBe(0);
  expect(await shouted(await connected(url, store))).toEqual(loud);
});

it("logs in as a client that is known already", async () => {
  const { url, oauth } = await protectedBy({ registration: false });
  oauth.clients.set("desk", { id: "desk", redirectUris: [] });
  const store = memoryLogins();
  await logIn(url, { store, onAddress: visits, client: { id: "desk" } });
  expect(await shouted(await connected(url, store))).toEqual(loud);
});

it("says so where it would have to be known already", async () => {
  const { url } = await protectedBy({ registration: false });
  for (const flow of ["browser", "device"] as const) {
    await expect(logIn(url, { store: memoryLogins(), onAddress: visits, flow })).rejects.toMatchObject({
      code: "unauthorized",
      message: expect.stringContaining("does not register clients automatically") as string,
    });
  }
});

it("logs in as itself, and again when the token ends", async () => {
  const { url, oauth } = await protectedBy();
  oauth.clients.set("robot", { id: "robot", secret: "s3cret", redirectUris: [] });
  const store = memoryLogins();
  await logIn(url, { store, flow: "client", client: { id: "robot", secret: "s3cret" } });
  const client = await connected(url, store);
  expect(await shouted(client)).toEqual(loud);
  oauth.expireAll();
  expect(await shouted(client)).toEqual(loud);
  expect(oauth.times("/token")).toBe(2);
});

it("takes no token of another type than Bearer, in any case of its letters", async () => {
  const { url, oauth } = await protectedBy();
  oauth.clients.set("robot", { id: "robot", secret: "s3cret", redirectUris: [] });
  const client = { id: "robot", secret: "s3cret" };
  const givenAs = async (token_type: string) => {
    oauth.instead = (response) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ access_token: "a", token_type }));
    };
    return logIn(url, { store: memoryLogins(), flow: "client", client });
  };
  expect(await givenAs("bEARER")).toMatchObject({ resource: url });
  await expect(givenAs("mac")).rejects.toMatchObject({
    code: "unauthorized",
    message: expect.stringContaining('gave a token of type "mac". Only tokens of type "Bearer"') as string,
  });
});

it("logs in with a code that the user enters elsewhere", async () => {
  const { url, oauth } = await protectedBy();
  const store = memoryLogins();
  const clock = new FakeClock();
  clock.hold();
  const code = Promise.withResolvers<string>();
  const loggedIn = logInBy(clock, new URL(url), {
    store,
    flow: "device",
    onAddress: (address) => code.resolve(address.code ?? ""),
  });
  const userCode = await code.promise;
  (await clock.nap(1_000)).wake();
  const second = await clock.nap(1_000); // since the user has not entered it yet
  oauth.decideOn(userCode, "approved");
  second.wake();
  await loggedIn;
  expect(oauth.times("/token")).toBe(2);
  expect(await shouted(await connected(url, store))).toEqual(loud);
});

it("keeps asking for a login with a code through an outage of the authorization server", async () => {
  const { url, oauth } = await protectedBy();
  const store = memoryLogins();
  const clock = new FakeClock();
  clock.hold();
  const code = Promise.withResolvers<string>();
  const loggedIn = logInBy(clock, new URL(url), {
    store,
    flow: "device",
    onAddress: (address) => code.resolve(address.code ?? ""),
  });
  loggedIn.catch(() => undefined);
  oauth.decideOn(await code.promise, "approved");
  oauth.instead = (response) => void response.writeHead(503).end("<h1>Back soon</h1>");
  (await clock.nap(1_000)).wake();
  const second = await Promise.race([clock.nap(1_000), loggedIn.then(() => undefined)]);
  oauth.instead = undefined;
  second?.wake();
  await loggedIn;
  expect(oauth.times("/token")).toBe(2);
});

it("says when the user refuses, with a code and without", async () => {
  const { url, oauth } = await protectedBy();
  const store = memoryLogins();
  oauth.decides = "denies";
  await expect(logIn(url, { store, onAddress: visits })).rejects.toMatchObject({
    code: "unauthorized",
    message: expect.stringContaining("The user said no") as string,
  });
  const clock = new FakeClock();
  const onAddress: LogInOptions["onAddress"] = ({ code = "" }) => oauth.decideOn(code, "denied");
  const refused = logInBy(clock, new URL(url), { store, flow: "device", onAddress });
  await expect(refused).rejects.toMatchObject({ code: "unauthorized" });
});

it("takes no answer without the right state, and waits on", async () => {
  const { url } = await protectedBy();
  const store = memoryLogins();
  let status = 0;
  await logIn(url, {
    store,
    onAddress: async (address) => {
      const forged = new URL(address.url.searchParams.get("redirect_uri") ?? "");
      forged.searchParams.set("code", "stolen");
      forged.searchParams.set("state", "guessed");
      status = (await fetch(forged)).status;
      await visits(address);
    },
  });
  expect(status).toBe(400);
});

it("gives up when nobody logs in in time, or nobody waits any more", async () => {
  const { url } = await protectedBy();
  const store = memoryLogins();
  const late = logIn(url, { store, onAddress: () => undefined, timeoutMs: 1 });
  await expect(late).rejects.toMatchObject({ code: "timeout" });
  const controller = new AbortController();
  const reason = new Error("Ctrl-C");
  const stopped = logIn(url, {
    store,
    signal: controller.signal,
    onAddress: () => controller.abort(reason),
  });
  await expect(stopped).rejects.toBe(reason);
});

it("refuses another issuer than the one that was asked for", async () => {
  const { url } = await protectedBy();
  const issuer = "https://login.example.com";
  const refused = logIn(url, { store: memoryLogins(), onAddress: visits, issuer });
  await expect(refused).rejects.toMatchObject({ code: "unauthorized" });
});

it("logs out, and the tokens are worth nothing any more", async () => {
  const { url, oauth } = await protectedBy();
  const store = memoryLogins();
  const { accessToken } = await logIn(url, { store, onAddress: visits });
  expect(await logOut(url, { store })).toBe("revoked");
  await expect(oauth.verifyAccessToken(accessToken)).rejects.toThrow();
  expect(await logOut(url, { store })).toBe("none");
  const refused = await connect(url, { auth: store }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(TaskClientError);
  expect(refused).toMatchObject({ code: "unauthorized" });
});

it("forgets a login also where tokens cannot be revoked", async () => {
  const { url } = await protectedBy({ revocation: false });
  const store = memoryLogins();
  await logIn(url, { store, onAddress: visits });
  expect(await logOut(url, { store })).toBe("deleted");
  expect(await logOut(url, { store })).toBe("none");
});

it("takes a lifetime that is longer than time goes for none", async () => {
  const { url } = await protectedBy({ lifetime: Number.MAX_SAFE_INTEGER });
  const store = memoryLogins();
  expect(await logIn(url, { store, onAddress: visits })).toMatchObject({ expiresAt: undefined });
  expect(await shouted(await connected(url, store))).toEqual(loud);
});

it("says in a line what an authorization server answers that cannot be read", async () => {
  const { url, oauth } = await protectedBy();
  oauth.instead = (response) =>
    void response
      .writeHead(502, { "content-type": "text/html" })
      .end(`<h1>\n${"Bad gateway ".repeat(500)}</h1>`);
  await expect(logIn(url, { store: memoryLogins(), onAddress: visits })).rejects.toMatchObject({
    code: "connection",
    message: expect.stringMatching(/^The login failed: HTTP 502.{20,300}$/) as string,
  });
});

it("takes null for what an authorization server does not have, and names the first thing that is missing", async () => {
  const { url, oauth } = await protectedBy({ metadataDocuments: false });
  const answeredWith =
    (more: object): NonNullable<LogInOptions["fetch"]> =>
    async (address, init) => {
      const response = await fetch(address, init);
      const isMetadata = new URL(address).pathname === "/.well-known/oauth-authorization-server";
      return isMetadata ? Response.json({ ...((await response.json()) as object), ...more }) : response;
    };
  const store = memoryLogins();
  const nulls = { scopes_supported: null, service_documentation: null };
  await logIn(url, { store, onAddress: visits, fetch: answeredWith(nulls) });
  expect(await shouted(await connected(url, store))).toEqual(loud);
  const invalid = logIn(url, { store, onAddress: visits, fetch: answeredWith({ token_endpoint: null }) });
  await expect(invalid).rejects.toMatchObject({
    code: "unauthorized",
    message: `Could not find out how to log in to ${url}: an answer of the server is invalid: token_endpoint is missing`,
  });
  expect(oauth.times("/token")).toBe(1);
});

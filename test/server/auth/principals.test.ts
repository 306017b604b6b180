import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../../kit/messages.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { listenTo, Subscription } from "../../kit/subscription.ts";
import { AuthorizationServer, audience, keyPair } from "./authorization-server.ts";
import { protectedServer } from "./protected-server.ts";
import { oauthResource } from "holdfast/auth";
import { jwtVerifierBy } from "../../../src/server/auth/jwt-verifier.ts";

const key = "holdfast/idempotencyKey";

it.each(["tasks/get", "tasks/update", "tasks/cancel"])(
  "%s of another's task looks exactly like an unknown one, and the owner's next token finds it",
  async (method) => {
    const { url, as } = await protectedServer();
    const peer = new StatelessClient(url);
    const taskId = await peer.start("waits", {}, await as("ann"));
    const inputResponses = {};
    const foreign = await peer.send(method, { taskId, inputResponses }, await as("bob"));
    const unknown = await peer.send(method, { taskId: "unknown", inputResponses }, await as("bob"));
    expect([foreign.status, foreign.error]).toEqual([unknown.status, unknown.error]);
    expect(foreign.error?.code).toBe(-32602);
    expect(
      (await peer.send(method, { taskId, inputResponses }, await as("ann", "other"))).error,
    ).toBeUndefined();
  },
);

it("pushes nobody another's task", async () => {
  const { url, as } = await protectedServer();
  const taskId = await new StatelessClient(url).start("waits", {}, await as("ann"));
  const first = async (taskIds: string[], sub: string): Promise<unknown> => {
    const listener = new Subscription(await listenTo(url, { taskIds }, await as(sub)));
    const message = await listener.next();
    await listener.leave();
    return message?.["params"];
  };
  expect(await first([taskId], "ann")).toMatchObject({ notifications: { taskIds: [taskId] } });
  expect(await first([taskId], "bob")).toEqual(await first(["unknown"], "bob"));
});

it("gives one idempotency key to everybody", async () => {
  const { url, as } = await protectedServer();
  const peer = new StatelessClient(url);
  const call = async (sub: string): Promise<string> =>
    peer.start("shout", { word: "a" }, { ...(await as(sub)), meta: { [key]: "order-7" } });
  const first = await call("ann");
  expect(await call("ann")).toBe(first);
  expect(await call("bob")).not.toBe(first);
});

it("keeps tasks of 2025-11-25 apart, in each other's sessions and lists", async () => {
  const { session } = await protectedServer();
  const [ann, bob] = [await session("ann"), await session("bob")];
  const created = await ann.request("tools/call", { name: "waits", arguments: {}, task: {} });
  const { taskId } = (created["result"] as { task: { taskId: string } }).task;
  expect(await ann.request("tasks/list")).toMatchObject({ result: { tasks: [{ taskId }] } });
  expect(await bob.request("tasks/list")).toMatchObject({ result: { tasks: [] } });
  for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
    const foreign = await bob.request(method, { taskId });
    const unknown = await bob.request(method, { taskId: "unknown" });
    expect(foreign["error"]).toEqual(unknown["error"]);
    expect(foreign["error"]).toMatchObject({ code: -32602 });
  }
  const other = await session("ann");
  expect(await other.request("tasks/get", { taskId })).toMatchObject({ result: { status: "working" } });
});

it("binds a session to whom it was opened by, whatever token he brings", async () => {
  const { url, as, session, issuer } = await protectedServer();
  const { sessionId } = await session("ann");
  const by = async (sub: string): Promise<SessionClient> => {
    const peer = new SessionClient(url, await as(sub));
    peer.sessionId = sessionId;
    return peer;
  };
  issuer.clock.suspend(500_000);
  const renewed = await by("ann");
  issuer.clock.suspend(500_000); // by now, the first token has expired
  expect(await renewed.call("shout", { word: "a" })).toMatchObject({ result: text("a") });
  for (const [method, init] of [
    ["POST", { body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }) }],
    ["GET", {}],
    ["DELETE", {}],
  ] as const) {
    const foreign = await (await by("bob")).send(method, init);
    const unknown = new SessionClient(url, await as("bob"));
    unknown.sessionId = "unknown";
    const other = await unknown.send(method, init);
    expect(foreign.status).toBe(404);
    expect([other.status, await other.text()]).toEqual([404, await foreign.text()]);
  }
  expect(await renewed.request("ping")).toMatchObject({ result: {} });
});

it("takes two people for two whose issuers give them one name", async () => {
  const servers = [
    await AuthorizationServer.start(await keyPair()),
    await AuthorizationServer.start(await keyPair()),
  ];
  const owners = await Promise.all(
    servers.map(async (server) => {
      const { clock, issuer, jwks } = server;
      const resource = oauthResource({
        resource: new URL(audience),
        authorizationServers: [issuer],
        verifier: jwtVerifierBy(clock, { issuer, audience, jwks }),
      });
      const headers = { authorization: `Bearer ${await server.token()}` };
      return resource.authenticate(new Request(audience, { headers }), () => undefined);
    }),
  );
  expect(owners).toEqual(
    servers.map(
      ({ issuer }) => expect.objectContaining({ principal: JSON.stringify([issuer, "ann"]) }) as unknown,
    ),
  );
});

it("hands the author's own tools what the token says", async () => {
  const { url, as, issuer } = await protectedServer(
    {},
    {
      server: (mcp) =>
        mcp.registerTool("whoami", {}, ({ http }) =>
          text(JSON.stringify([http?.authInfo?.extra?.["sub"], http?.authInfo?.scopes])),
        ),
    },
  );
  expect((await new StatelessClient(url).call("whoami", {}, await as("ann", "a"))).result).toMatchObject(
    text('["ann",["a"]]'),
  );
  expect(issuer.reads).toBe(1);
});

it("writes no token to the store, nor to what it reports", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-auth-"));
  const { url, as, reported, session } = await protectedServer(
    {},
    { options: { store: sqliteStore(join(folder, "tasks.db")) } },
  );
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const ann = await as("ann");
  const peer = new StatelessClient(url);
  await peer.start("waits", {}, ann);
  await peer.send("tasks/get", { taskId: 7 }, ann);
  await peer.call("shout", { word: 7 }, ann);
  const bob = await session("bob");
  await bob.request("tools/call", { name: "waits", arguments: {}, task: {} });
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const written = await Promise.all(
    files.map(({ parentPath, name }) => readFile(join(parentPath, name), "latin1")),
  );
  expect(written.join("")).toContain('"ann"');
  const [, token = "none"] = ann.headers.authorization?.split(" ") ?? [];
  for (const part of token.split(".").slice(1)) expect(written.join("") + reported()).not.toContain(part);
});

it("tells a tool the issuer and the subject, and the claims that are named, in task.caller", async () => {
  const seen: unknown[] = [];
  const { url, as, issuer } = await protectedServer(
    { claims: ["aud", "missing"], credentials: ({ subject }) => `of ${subject}` },
    {
      tools: (tasks) =>
        tasks.tool("tells", {}, async (_args, task) => {
          seen.push(task.caller, await task.credentials());
          return text("told");
        }),
    },
  );
  const peer = new StatelessClient(url);
  const ann = await as("ann", "reports");
  const taskId = await peer.start("tells", {}, ann);
  await expect.poll(async () => (await peer.get(taskId, ann))["status"]).toBe("completed");
  expect(seen).toEqual([
    {
      principal: JSON.stringify([issuer.issuer, "ann"]),
      clientId: expect.any(String) as string,
      scopes: ["reports"],
      claims: { aud: audience, iss: issuer.issuer, sub: "ann" },
    },
    "of ann",
  ]);
});

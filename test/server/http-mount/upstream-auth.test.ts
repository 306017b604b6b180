import type { AuthInfo } from "@modelcontextprotocol/server";
import express, { type Request } from "express";
import type { TaskCaller, Tasks } from "holdfast";
import type { NodeHandlerOptions } from "holdfast/http";
import { expect, it } from "vitest";
import { text } from "../../kit/messages.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { handlerOf, served } from "./mount.ts";

/** What authentication leaves for the caller that a header names. */
type Leave = (user: string) => unknown;

const authInfo = (user: string, more: object = {}): AuthInfo => ({
  token: `token of ${user}`,
  clientId: "one app",
  scopes: [],
  extra: { sub: user, iss: "https://login.example" },
  ...more,
});

async function authenticated(
  leave: Leave,
  http: NodeHandlerOptions = {},
  property = "auth",
  tools: (tasks: Tasks) => void = () => undefined,
) {
  const { handler, errors } = handlerOf({
    http,
    tools,
    server: (mcp) =>
      mcp.registerTool("whoami", {}, ({ http: { authInfo: info } = {} }) => text(String(info?.token))),
  });
  const app = express();
  app.use((request, _, next) => {
    const user = request.headers["x-test-user"];
    if (typeof user === "string") Object.assign(request, { [property]: leave(user) });
    next();
  }, handler);
  const { origin } = await served(app);
  const url = `${origin}/mcp`;
  const as = (user: string): StatelessClient =>
    new StatelessClient(url, (at, init) => {
      const headers = new Headers(init.headers);
      headers.set("x-test-user", user);
      return fetch(at, { ...init, headers });
    });
  return { as, url, errors };
}

it("gives tasks to the subject of a token, and to no other user of the same client", async () => {
  const { as, errors } = await authenticated((user) => authInfo(user));
  const id = await as("ann").start("bare");
  expect(await as("ann").ended(id)).toMatchObject({ result: text("bare") });
  expect((await as("bob").send("tasks/get", { taskId: id })).error?.code).toBe(-32602);
  expect((await as("ann").call("whoami")).result).toMatchObject(text("token of ann"));
  expect(errors).toEqual([]);
});

it("tells a tool who called, by issuer and subject, and nothing else of what the token says", async () => {
  const seen: TaskCaller[] = [];
  const extra = { sub: "ann", iss: "https://login.example", email: "ann@example.com" };
  const { as } = await authenticated(
    (user) => authInfo(user, { extra, scopes: ["reports"] }),
    {},
    "auth",
    (tasks) =>
      tasks.tool("tells", {}, async (_args, { caller }) => {
        seen.push(caller);
        return text("told");
      }),
  );
  await as("ann").ended(await as("ann").start("tells"));
  const { email: _, ...claims } = extra;
  const principal = JSON.stringify([claims.iss, claims.sub]);
  expect(seen).toEqual([{ principal, clientId: "one app", scopes: ["reports"], claims }]);
});

it("tells the subjects of two issuers apart, and takes a verified token of ours as oauthResource does", async () => {
  const issued = (issuer: string) => authInfo("ann", { issuer, subject: "ann", extra: {} });
  const { as } = await authenticated(issued);
  const id = await as("https://a.example").start("bare");
  expect(await as("https://a.example").ended(id)).toMatchObject({ result: text("bare") });
  expect((await as("https://b.example").send("tasks/get", { taskId: id })).error?.code).toBe(-32602);
});

it.each<[string, Leave]>([
  ["no subject", (user) => authInfo(user, { extra: {} })],
  ["an empty subject", (user) => authInfo(user, { extra: { sub: "" } })],
  ["a form of its own", (user) => ({ user })],
  ["a name alone", (user) => user],
])("serves nobody, and says what to do, where authentication leaves %s", async (_, leave) => {
  const { as, errors } = await authenticated(leave);
  expect((await as("ann").call("bare")).status).toBe(500);
  expect((await as("ann").call("bare")).status).toBe(500);
  expect(errors).toHaveLength(2);
  expect(errors[0]).toMatchObject({
    code: "configuration",
    message: expect.stringContaining("the option authenticate") as unknown,
  });
});

it("asks authenticate, if there is one, with what is known of the caller", async () => {
  const byClient = await authenticated((user) => authInfo(user, { clientId: user, extra: {} }), {
    authenticate: async (_, { authInfo: info }) => info?.clientId,
  });
  const id = await byClient.as("app 1").start("bare");
  expect((await byClient.as("app 2").send("tasks/get", { taskId: id })).error?.code).toBe(-32602);
  expect((await new StatelessClient(byClient.url).call("bare")).status).toBe(401);

  const authenticate: NodeHandlerOptions["authenticate"] = async (_, { incoming }) =>
    (incoming as Request & { user?: { name: string } }).user?.name;
  const bySession = await authenticated((name) => ({ name }), { authenticate }, "user");
  expect(await bySession.as("ann").start("bare")).toBeDefined();
  expect((await new StatelessClient(bySession.url).call("bare")).status).toBe(401);
});

it("keeps a session to the caller who opened it", async () => {
  const { url } = await authenticated((user) => authInfo(user));
  const session = await SessionClient.open(url, { headers: { "x-test-user": "ann" } });
  expect(await session.call("bare")).toMatchObject({ result: text("bare") });
  const thief = new SessionClient(url, { headers: { "x-test-user": "bob" } });
  thief.sessionId = session.sessionId;
  expect((await thief.post({ id: 1, method: "ping" })).status).toBe(404);
});

it("treats callers whom nobody authenticated as before", async () => {
  const { url, as } = await authenticated((user) => authInfo(user));
  const nobody = new StatelessClient(url);
  const id = await as("ann").start("bare");
  expect((await nobody.send("tasks/get", { taskId: id })).error?.code).toBe(-32602);
  expect(await nobody.ended(await nobody.start("bare"))).toMatchObject({ result: text("bare") });
});

it("refuses whom nobody authenticated, if it is told to", async () => {
  const { url, as, errors } = await authenticated((user) => authInfo(user), { anonymous: "refused" });
  const nobody = new StatelessClient(url);
  for (const _ of ["before the server knows its name", "and after"]) {
    expect((await as("ann").call("bare")).status).toBe(200);
    const { status, headers } = await nobody.call("bare");
    expect([status, headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  }
  expect((await fetch(new URL("/readyz", url))).status).toBe(200);
  expect(errors).toEqual([]);
});

it("does not take a slip for the default", () => {
  expect(() => handlerOf({ http: { anonymous: "refuse" as never } })).toThrow(
    'anonymous must be "isolated", "shared" or "refused", not "refuse".',
  );
});

import express from "express";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type ServerEvent } from "holdfast";
import {
  adminToken,
  createAdminHandler,
  createNodeHandler,
  serveHttp,
  type OperatorEndpoint,
  type AdminHandlerOptions,
  type Operator,
} from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { Held, watchedStore } from "../../runtime/watched-store.ts";
import { served } from "../http-mount/mount.ts";
import { text } from "../../kit/messages.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { ask, operated } from "./operated.ts";

const token = "token-of-ann";
const authenticate = adminToken(token, "ann");

function tasksOf() {
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100 });
  tasks.tool("ok", {}, () => text("ok"));
  onTestFinished(() => tasks.stop());
  return tasks;
}

async function handlerOf(options: Partial<AdminHandlerOptions> = {}): Promise<OperatorEndpoint> {
  const tasks = tasksOf();
  await tasks.start();
  return createAdminHandler(tasks, { authenticate, ...options });
}

it("is not there unless it was asked for", async () => {
  const http = await serveHttp(
    tasksOf().server(() => new McpServer({ name: "reports", version: "1" })),
    { port: 0 },
  );
  onTestFinished(() => http.close());
  const { origin } = new URL(http.url);
  for (const path of ["/admin", "/admin/tasks", "/admin/openapi.json"])
    expect((await ask(`${origin}${path}`, "GET")).status).toBe(404);
});

it("serves beside an MCP endpoint as middleware, below a mount and after a parser of bodies", async () => {
  const tasks = tasksOf();
  const app = express();
  const mcp = createNodeHandler(tasks.server(() => new McpServer({ name: "reports", version: "1" })));
  onTestFinished(() => mcp.close());
  app.use(express.json());
  app.use("/ops", createAdminHandler(tasks, { path: "/ops/tasks", authenticate }));
  app.use(mcp);
  app.use((_, response) => void response.status(299).json("the application"));
  const { origin } = await served(app);
  expect(await ask(`${origin}/ops/tasks/counts`, "GET")).toMatchObject({
    status: 503,
    body: { error: { code: "store_closed" } },
  });
  const id = await new StatelessClient(`${origin}/mcp`).start("ok");
  expect(await ask(`${origin}/ops/tasks/tasks/${id}`, "GET")).toMatchObject({ status: 200, body: { id } });
  expect((await ask(`${origin}/ops/tasks/tools/ok/pause`, "POST", { body: {} })).status).toBe(204);
  expect(await tasks.admin.actions()).toMatchObject([{ actor: "ann", action: "pause", tool: "ok" }]);
  for (const path of ["/ops", "/ops/tasksandmore", "/"])
    expect((await ask(`${origin}${path}`, "GET")).status).toBe(299);
});

it("serves as a function from request to response, and as the listener of a server", async () => {
  const handler = await handlerOf({ allowedHosts: ["Ops.example.com"] });
  const get = (host: string, path = "/admin/counts"): Request =>
    new Request(`https://${host}${path}`, { headers: { Authorization: `Bearer ${token}`, Host: host } });
  expect((await handler.fetch(get("ops.example.com"))).status).toBe(200);
  expect((await handler.fetch(get("other.example.com"))).status).toBe(403);
  const post = new Request("https://ops.example.com/admin/tools/ok/pause", {
    method: "POST",
    headers: {
      Authorization: `Bearer ${token}`,
      Host: "ops.example.com",
      "Content-Type": "application/json",
    },
  });
  expect((await handler.fetch(post, { parsedBody: {} })).status).toBe(204);
  const { origin } = await served(await handlerOf());
  expect((await ask(`${origin}/admin/counts`, "GET")).status).toBe(200);
  expect((await ask(`${origin}/mcp`, "GET")).status).toBe(404);
});

it("answers 503 once it is closed, and while its server stops", async () => {
  const handler = await handlerOf({ allowedHosts: "any" });
  handler.close();
  const request = new Request("http://localhost/admin/counts", {
    headers: { Authorization: `Bearer ${token}` },
  });
  const refused = await handler.fetch(request);
  expect(refused.status).toBe(503);
  expect(await refused.json()).toMatchObject({ error: { code: "stopping" } });
});

it("closes with its server, which waits for what an operator does", async () => {
  const acting = new Held("cancel");
  const store = watchedStore(memoryStore(), acting.before);
  const { http, ask: asks, peer } = await operated({ store, options: { stopDeadlineMs: 60_000 } });
  const id = await peer.start("endless");
  const cancelled = asks("POST", `/tasks/${id}/cancel`, { body: {} });
  await acting.reached;
  const closed = http.close();
  expect(await Promise.race([closed, Promise.resolve("open")])).toBe("open");
  acting.open();
  expect(await cancelled).toMatchObject({ status: 200, body: { id, state: "cancelled" } });
  await closed;
  await expect(asks("GET", "/counts")).rejects.toThrow();
});

it("tells those who listen of strangers", async () => {
  const events: unknown[] = [];
  const onEvent = (event: ServerEvent): void => void events.push(event);
  const { ask: asks } = await operated({ options: { onEvent } });
  await asks("GET", "/counts", { token: "other" });
  await asks("POST", "/bulk", { token: "token-of-bob", body: {} });
  await asks("GET", "/tasks/none");
  expect(events).toMatchObject([
    { type: "request.refused", code: "unauthorized", status: 401, principal: null },
    { type: "request.refused", code: "forbidden", status: 403, principal: null },
  ]);
});

it("needs an authentication of its own, tasks, and a path that hides nothing", async () => {
  const tasks = tasksOf();
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1" }));
  const configuration = expect.objectContaining({ code: "configuration" }) as Error;
  // As JavaScript callers may say it.
  const options = (given: object): AdminHandlerOptions => given as AdminHandlerOptions;
  for (const given of [{}, { authenticate: token }, { authenticate, tokens: [token] }])
    expect(() => createAdminHandler(tasks, options(given))).toThrow(configuration);
  for (const path of ["", "/", "admin", "/admin/", "/{id}", "/a b"])
    expect(() => createAdminHandler(tasks, { authenticate, path })).toThrow(configuration);
  expect(() => createAdminHandler({ ...tasks }, { authenticate })).toThrow(configuration);
  for (const admin of [{ authenticate, path: "/mcp" }, options({}), { authenticate, path: "/mcp/.." }])
    await expect(serveHttp(server, { port: 0, admin })).rejects.toMatchObject({ code: "configuration" });
});

it("knows an operator by a token, which has to be one", async () => {
  const known = adminToken("s3cret");
  const by = async (authorization?: string): Promise<unknown> =>
    known(
      new Request("http://localhost/", authorization === undefined ? {} : { headers: { authorization } }),
    );
  expect(await by("Bearer s3cret")).toEqual({ actor: "operator" });
  expect(await by("bearer  s3cret")).toEqual({ actor: "operator" });
  const reader = { actor: "dashboard", role: "read" } as const;
  const request = new Request("http://localhost/", { headers: { authorization: "Bearer s3cret" } });
  expect(await adminToken("s3cret", reader)(request)).toEqual(reader);
  for (const other of [undefined, "Bearer", "Bearer s3cre", "Bearer s3cret2", "Basic s3cret", "s3cret"])
    expect(await by(other)).toBeUndefined();
  for (const none of [undefined, "", " ", "two words", "ü"])
    expect(() => adminToken(none)).toThrow(expect.objectContaining({ code: "configuration" }) as Error);
});

it.each<[string, object]>([
  ["without a name", { actor: " " }],
  ["of a role that there is not", { actor: "ann", role: "write" }],
])("lets in no operator %s", async (_, operator) => {
  const errors: unknown[] = [];
  const tasks = createTasks({ store: memoryStore(), onError: (error) => errors.push(error) });
  await tasks.start();
  onTestFinished(() => tasks.stop());
  // As JavaScript callers may say it.
  const handler = createAdminHandler(tasks, {
    authenticate: async () => operator as Operator,
    allowedHosts: "any",
  });
  const answer = await handler.fetch(new Request("http://localhost/admin/counts"));
  expect(answer.status).toBe(501);
  expect(errors).toMatchObject([{ code: "configuration" }]);
});

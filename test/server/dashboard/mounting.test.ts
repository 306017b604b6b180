import { getRequestListener } from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { remoteAdmin } from "holdfast/client";
import { adminToken, createDashboard, serveHttp, type DashboardOptions } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { served } from "../http-mount/mount.ts";
import { operated } from "../admin/operated.ts";
import { text } from "../../kit/messages.ts";
import { Browser } from "./browser.ts";
import { shown } from "./shown.ts";

const authenticate = adminToken("token-of-ann", "ann");

function tasksOf() {
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100 });
  tasks.tool("ok", {}, () => text("ok"));
  onTestFinished(() => tasks.stop());
  return tasks;
}

it("is not there unless it was asked for", async () => {
  const { origin } = await operated();
  for (const path of ["/holdfast", "/holdfast/", "/holdfast/login", "/holdfast/api/tasks"])
    expect((await fetch(`${origin}${path}`)).status).toBe(404);
});

it("is served as middleware, below a mount and after a parser of forms", async () => {
  const tasks = tasksOf();
  await tasks.start();
  const app = express();
  app.use(express.urlencoded(), express.json());
  app.use("/ops", createDashboard(tasks, { path: "/ops/tasks", authenticate }));
  app.use((_, response) => void response.status(299).json("the application"));
  const { origin } = await served(app);
  const browser = new Browser(origin);
  const login = await (await browser.ask("/ops/tasks/tools")).text();
  expect(login).toContain('action="/ops/tasks/login"');
  const body = new URLSearchParams({ token: "token-of-ann", next: "/ops/tasks/tools" });
  const answer = await browser.ask("/ops/tasks/login", { method: "POST", body });
  expect([answer.status, answer.headers.get("location")]).toEqual([303, "/ops/tasks/tools"]);
  expect(await (await browser.ask("/ops/tasks/tools")).text()).toContain('content="/ops/tasks"');
  const { csrf } = (await (await browser.ask("/ops/tasks/session")).json()) as { csrf: string };
  const paused = await browser.ask("/ops/tasks/api/tools/ok/pause", {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf },
    body: "{}",
  });
  expect(paused.status).toBe(204);
  for (const path of ["/ops", "/ops/tasksandmore", "/"]) expect((await browser.ask(path)).status).toBe(299);
});

it("reads the login of a form of which a parser before it has left the text, or the bytes", async () => {
  for (const parser of [express.text({ type: "*/*" }), express.raw({ type: "*/*" })]) {
    const app = express();
    const tasks = tasksOf();
    await tasks.start();
    app.use(parser, createDashboard(tasks, { authenticate }));
    const { origin } = await served(app);
    const answer = await new Browser(origin).logIn("token-of-ann", { next: "/holdfast/tools" });
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/holdfast/tools"]);
  }
});

it("is served as a function from request to response", async () => {
  const tasks = tasksOf();
  await tasks.start();
  const dashboard = createDashboard(tasks, { authenticate, allowedHosts: ["ops.example.com"] });
  const headers = { Host: "ops.example.com", Origin: "https://ops.example.com" };
  const url = "https://ops.example.com/holdfast";
  const form = { method: "POST", headers, body: new URLSearchParams({ token: "token-of-ann" }) };
  const answer = await dashboard.fetch(new Request(`${url}/login`, form));
  expect(answer.status).toBe(303);
  const cookies = answer.headers.getSetCookie();
  expect(cookies.every((cookie) => cookie.includes("; Secure"))).toBe(true);
  const cookie = cookies.map((each) => each.split(";")[0]).join("; ");
  const asked = await dashboard.fetch(
    new Request(`${url}/session`, { headers: { ...headers, Cookie: cookie } }),
  );
  expect(await asked.json()).toMatchObject({ actor: "ann" });
  const other = new Request(`${url}/`, { headers: { Host: "other.example.com" } });
  expect((await dashboard.fetch(other)).status).toBe(403);
  dashboard.close();
  const late = await dashboard.fetch(
    new Request(`${url}/session`, { headers: { ...headers, Cookie: cookie } }),
  );
  expect(late.status).toBe(503);
});

it("is served by Hono", async () => {
  const tasks = tasksOf();
  await tasks.start();
  const dashboard = createDashboard(tasks, { authenticate });
  const app = new Hono();
  app.all("/holdfast/*", ({ req }) => dashboard.fetch(req.raw));
  const listener = getRequestListener(app.fetch);
  const { origin } = await served((incoming, outgoing) => void listener(incoming, outgoing));
  const browser = new Browser(origin);
  expect((await browser.ask("/holdfast")).status).toBe(401);
  expect((await browser.logIn("token-of-ann")).status).toBe(303);
  expect([...browser.cookies.keys()]).toEqual(["holdfast-operator", "holdfast-csrf"]);
  expect((await browser.ask("/holdfast/tools")).status).toBe(200);
  expect((await browser.act("/api/tools/ok/pause", {})).status).toBe(204);
});

it("shows a server that runs elsewhere, by its admin endpoint", async () => {
  const { origin, ended, tasks } = await operated();
  const id = await ended("ok");
  const admin = remoteAdmin(`${origin}/admin`, { token: "token-of-ann" });
  const apart = await served(createDashboard(admin, { authenticate: adminToken("s3cret", "eve") }));
  const browser = new Browser(apart.origin);
  await browser.logIn("s3cret");
  expect(await (await browser.ask(`/holdfast/api/tasks/${id}`)).json()).toMatchObject({
    id,
    state: "completed",
  });
  expect((await browser.act("/api/tools/ok/pause", {})).status).toBe(204);
  // The endpoint knows whose token is used.
  expect((await tasks.admin.actions()).filter(({ action }) => action !== "login")).toMatchObject([
    { actor: "ann", action: "pause" },
    { actor: "ann", action: "read" },
  ]);
});

it("has links to traces where it is told where they are", async () => {
  const traceUrl = "https://traces.example.com/trace/{traceId}";
  const { browser } = await shown({ dashboard: { traceUrl } });
  await browser.logIn("token-of-ann");
  expect(await browser.session()).toMatchObject({ traceUrl });
});

it("needs an authentication, tasks, and a path that hides nothing", async () => {
  const tasks = tasksOf();
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1" }));
  const configuration = expect.objectContaining({ code: "configuration" }) as Error;
  // As JavaScript callers may say it.
  const options = (given: object): DashboardOptions => given as DashboardOptions;
  for (const given of [{}, { authenticate: "s3cret" }, { authenticate, token: "s3cret" }])
    expect(() => createDashboard(tasks, options(given))).toThrow(configuration);
  for (const path of ["", "/", "holdfast", "/holdfast/", '/"><script>', "/a b"])
    expect(() => createDashboard(tasks, { authenticate, path })).toThrow(configuration);
  for (const traceUrl of ["javascript:alert('{traceId}')", "https://traces.example.com/", "{traceId}"])
    expect(() => createDashboard(tasks, { authenticate, traceUrl })).toThrow(configuration);
  expect(() => createDashboard({ ...tasks }, { authenticate })).toThrow(configuration);
  const dashboards = [{}, { authenticate, path: "/mcp" }, { authenticate, paths: "/holdfast" }];
  for (const dashboard of dashboards)
    await expect(serveHttp(server, { port: 0, dashboard })).rejects.toMatchObject({ code: "configuration" });
  const admin = { authenticate, path: "/holdfast/api" };
  await expect(serveHttp(server, { port: 0, admin, dashboard: {} })).rejects.toMatchObject({
    code: "configuration",
  });
});

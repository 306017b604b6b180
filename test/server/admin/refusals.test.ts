import { expect, it } from "vitest";
import { routes } from "../../../src/admin/endpoint.ts";
import { memoryStore } from "../../../src/memory.ts";
import { mostInBulk } from "../../../src/admin/task-operations.ts";
import { RawConnection } from "../../kit/raw-connection.ts";
import { callersToken, operated, type Asked } from "./operated.ts";

const refused = (code: string): object => ({
  error: { code, message: expect.stringMatching(/\w/) as string },
});
/** A path of the route, with a name that nothing has. */
const pathOf = (path: string): string => path.replace(/\{\w+\}/, "none");
const all = [...routes, { method: "GET", path: "/openapi.json" }, { method: "GET", path: "/nowhere" }];

it("refuses everybody without a token of its own, be it a caller's", async () => {
  const { ask } = await operated();
  for (const token of [null, "other", callersToken, "token-of-ann2", "token-of-an", ""]) {
    for (const { method, path } of all) {
      const asked = await ask(method, pathOf(path), { token });
      expect(asked).toMatchObject({ status: 401, body: refused("unauthenticated") });
      expect(asked.headers.get("www-authenticate")).toBe('Bearer realm="admin"');
      expect(asked.headers.get("cache-control")).toBe("no-store");
    }
  }
  const basic = { authorization: `Basic ${Buffer.from("ann:token-of-ann").toString("base64")}` };
  expect((await ask("GET", "/counts", { token: null, headers: basic })).status).toBe(401);
  expect((await ask("GET", "/counts?token=token-of-ann", { token: null })).status).toBe(401);
});

it("does not take an operator for a caller", async () => {
  const { http } = await operated();
  const headers = { Authorization: "Bearer token-of-ann", "Content-Type": "application/json" };
  expect((await fetch(http.url, { method: "POST", headers, body: "{}" })).status).toBe(401);
});

it("lets an operator who may only read change nothing", async () => {
  const { ask, tasks } = await operated();
  for (const { method, path, role } of routes) {
    const body = method === "POST" ? {} : undefined;
    const { status } = await ask(method, pathOf(path), { token: "token-of-bob", body });
    expect([path, status]).toEqual([
      path,
      method !== "GET" || role === "admin" ? 403 : path.includes("/{id}") ? 404 : 200,
    ]);
  }
  expect(await tasks.admin.actions()).toEqual([]);
});

it("refuses names that it is not served under, and pages of others", async () => {
  const { ask, http } = await operated();
  expect(await ask("GET", "/counts", { headers: { Origin: "https://evil.example" } })).toMatchObject({
    status: 403,
    body: refused("invalid_request"),
  });
  expect((await ask("GET", "/counts", { headers: { Origin: "http://localhost:5173" } })).status).toBe(200);
  const raw = await RawConnection.to(
    http.port,
    "GET /admin/counts HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer token-of-ann\r\n\r\n",
  );
  expect(await raw.statuses()).toEqual([403]);
});

it("has nothing at other paths, and says which methods there are", async () => {
  const { ask, origin } = await operated();
  for (const path of ["", "/", "/tasks/", "/tasks//cancel", "/tasks/a/b/c", "/Tasks", "/constructor"])
    expect(await ask("GET", path)).toMatchObject({ status: 404, body: refused("method_not_found") });
  const wrong = await ask("PUT", "/tasks/none", { body: {} });
  expect(wrong).toMatchObject({ status: 405, body: refused("invalid_request") });
  expect(wrong.headers.get("allow")).toBe("GET, DELETE");
  expect((await ask("GET", "/bulk")).status).toBe(405);
  expect((await ask("OPTIONS", "/tasks")).status).toBe(405);
  // The endpoint is below its own path alone.
  const near = await fetch(`${origin}/administrator`, { headers: { Authorization: "Bearer token-of-ann" } });
  expect(await near.json()).toMatchObject({ jsonrpc: "2.0" });
});

it("refuses hostile paths", async () => {
  const { ask, http } = await operated();
  expect(await ask("GET", "/tasks/%ff")).toMatchObject({ status: 400, body: refused("invalid_params") });
  expect(await ask("GET", "/tasks/%00")).toMatchObject({ status: 404, body: refused("unknown_task") });
  expect(await ask("GET", `/tasks/${"a".repeat(8_000)}`)).toMatchObject({ status: 404 });
  for (const path of [
    "/admin/../admin/counts",
    "/x/../admin/counts",
    "//admin/counts",
    "/admin/%2e%2e/mcp",
  ]) {
    const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer token-of-ann\r\n\r\n`;
    const [status] = await (await RawConnection.to(http.port, head)).statuses();
    expect([path, status === 200]).toEqual([path, false]);
  }
  const twice =
    "GET /admin/counts HTTP/1.1\r\nHost: localhost\r\n" + "Authorization: Bearer token-of-ann\r\n".repeat(2);
  expect(await (await RawConnection.to(http.port, `${twice}\r\n`)).statuses()).toEqual([400]);
});

it("refuses parameters that it does not know or that are none", async () => {
  const { ask, errors } = await operated();
  const bad = [
    "/tasks?states=failed",
    "/tasks?state=broken",
    "/tasks?tool=a&tool=b",
    "/tasks?limit=0",
    "/tasks?limit=1001",
    "/tasks?limit=999999999999999999999",
    "/tasks?limit=1e3",
    "/tasks?limit=",
    "/tasks?createdFrom=yesterday",
    "/tasks?nobody=1",
    "/tasks?nobody=true&principal=ann",
    "/failures/ok?limit=10001",
    "/actions?limit=1001",
    "/actions?before=-1",
    "/counts?state=failed",
    "/tasks/none?__proto__=1",
  ];
  for (const path of bad)
    expect([path, await ask("GET", path)]).toMatchObject([
      path,
      { status: 400, body: refused("invalid_params") },
    ]);
  expect((await ask("GET", "/tasks?principal=&text=&state=failed&state=running&nobody=false")).status).toBe(
    200,
  );
  expect(errors).toEqual([]);
});

it("refuses bodies that are none", async () => {
  const { ask, tasks, ended, errors } = await operated({ options: { maxBodyBytes: 1_000 } });
  const id = await ended("ok");
  const bad: [path: string, body: unknown][] = [
    [`/tasks/${id}/cancel`, { force: true }],
    [`/tasks/${id}/cancel`, []],
    [`/tasks/${id}/answer`, {}],
    [`/tasks/${id}/answer`, { answers: [] }],
    [`/tasks/${id}/answer`, { answers: null }],
    [`/tasks/${id}/retry`, { keepUpTo: 1 }],
    [`/tasks/${id}/retry`, { args: {} }],
    [`/tasks/${id}/retry`, '{"__proto__":{}}'],
    [`/tasks/${id}/extend`, {}],
    [`/tasks/${id}/extend`, { until: "tomorrow" }],
    [`/tasks/${id}/extend`, { until: 1 }],
    ["/bulk", {}],
    ["/bulk", { action: "drop", selection: {} }],
    ["/bulk", { action: "delete" }],
    ["/bulk", { action: "delete", selection: null }],
    ["/bulk", { action: "delete", selection: { state: "failed" } }],
    ["/bulk", { action: "delete", selection: { states: "failed" } }],
    ["/bulk", { action: "delete", selection: { states: ["broken"] } }],
    ["/bulk", { action: "delete", selection: { tool: 1 } }],
    ["/bulk", { action: "delete", selection: { text: {} } }],
    ["/bulk", { action: "delete", selection: {}, options: { dryRun: "yes" } }],
    ["/bulk", { action: "delete", selection: {}, options: { limit: mostInBulk + 1 } }],
    ["/bulk", { action: "delete", selection: {}, options: { limit: 0.5 } }],
    ["/bulk", { action: "delete", selection: {}, options: { after: 1 } }],
    ["/bulk", { action: "extend", selection: {} }],
  ];
  for (const [path, body] of bad)
    expect([path, body, await ask("POST", path, { body })]).toMatchObject([
      path,
      body,
      { status: 400, body: refused("invalid_params") },
    ]);
  const asked = async (body: string, headers = {}): Promise<Asked> => ask("POST", "/bulk", { body, headers });
  expect(await asked("{")).toMatchObject({ status: 400, body: refused("invalid_request") });
  expect(await asked('{"a":1e999}')).toMatchObject({ status: 400, body: refused("invalid_request") });
  expect((await asked(`{"a":${"[".repeat(500)}${"]".repeat(500)}}`)).status).toBe(400);
  expect(await asked("{}", { "Content-Type": "text/plain" })).toMatchObject({ status: 415 });
  const large = { action: "delete", selection: { text: "x".repeat(70_000) } };
  expect(await ask("POST", "/bulk", { body: large })).toMatchObject({
    status: 413,
    body: refused("too_large"),
  });
  expect(await tasks.admin.actions()).toEqual([]);
  expect(errors).toEqual([]);
});

it("tells operators that the store does not answer, and of faults no more than that there was one", async () => {
  const store = memoryStore();
  const { ask, errors, tasks } = await operated({ store });
  const { admin } = store;
  if (admin === undefined) throw new Error("The store has no part for operators.");
  admin.paused = () => Promise.reject(new Error("at /home/ann/secret.db"));
  const asked = await ask("GET", "/counts");
  expect(asked).toMatchObject({ status: 500, body: refused("internal") });
  expect(JSON.stringify(asked.body)).not.toContain("secret");
  expect(errors).toMatchObject([{ message: "at /home/ann/secret.db" }]);
  await tasks.stop();
  const stopped = await ask("GET", "/tasks");
  expect(stopped).toMatchObject({ status: 503 });
  expect(stopped.headers.get("retry-after")).toBe("1");
});

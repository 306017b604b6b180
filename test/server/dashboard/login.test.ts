import type { ServerEvent } from "holdfast";
import { expect, it } from "vitest";
import { operators } from "../admin/operated.ts";
import { Browser } from "./browser.ts";
import { shown } from "./shown.ts";

const pages = [
  "/holdfast/",
  "/holdfast/tasks/an-id",
  "/holdfast/tools",
  "/holdfast/nodes",
  "/holdfast/?state=failed",
];
const files = ["/holdfast/app.js", "/holdfast/app.css", "/holdfast/session", "/holdfast/favicon.ico"];
const api = ["/holdfast/api/tasks", "/holdfast/api/openapi.json", "/holdfast/api/nowhere", "/holdfast/api"];

it("shows strangers the login page, and nothing else", async () => {
  const { browser } = await shown();
  for (const path of [...pages, "/holdfast"]) {
    const answer = await browser.ask(path);
    expect([path, answer.status]).toEqual([path, 401]);
    expect(answer.headers.get("www-authenticate")).toBe('Bearer realm="dashboard"');
    const html = await answer.text();
    expect(html).toContain('<form method="post" action="/holdfast/login">');
    expect(html).not.toContain("<script");
    expect(html).not.toContain("app.");
  }
  for (const path of [...files, ...api]) {
    const answer = await browser.ask(path);
    expect([path, answer.status]).toEqual([path, 401]);
    expect(await answer.json()).toMatchObject({ error: { code: "unauthenticated" } });
  }
  for (const method of ["POST", "DELETE", "PUT"]) {
    const answer = await browser.ask("/holdfast/api/tasks/none", { method });
    expect(answer.status).toBe(401);
  }
  expect((await browser.ask("/holdfast/login")).status).toBe(200);
});

it("logs in who has the token of an operator, where he wanted to go", async () => {
  const { browser } = await shown();
  const html = await (await browser.ask("/holdfast/tasks/an-id?log=1")).text();
  expect(html).toContain('name="next" value="/holdfast/tasks/an-id?log=1"');
  const answer = await browser.logIn("token-of-ann", { next: "/holdfast/tasks/an-id?log=1" });
  expect(answer.status).toBe(303);
  expect(answer.headers.get("location")).toBe("/holdfast/tasks/an-id?log=1");
  for (const cookie of browser.set)
    expect(cookie).toMatch(/; Path=\/holdfast; HttpOnly; SameSite=(?:Lax|Strict)$/);
  expect(browser.set.map((cookie) => /^[^=]+|\w+$/g.exec(cookie)?.[0])).toEqual([
    "holdfast-operator",
    "holdfast-csrf",
  ]);
  for (const path of pages) expect((await browser.ask(path)).status).toBe(200);
  expect((await browser.ask("/holdfast/api/tasks")).status).toBe(200);
  expect(await browser.session()).toEqual({
    actor: "ann",
    role: "admin",
    csrf: browser.cookies.get("holdfast-csrf"),
    version: expect.stringMatching(/^\d+\.\d+\.\d+/) as string,
    traceUrl: null,
    runbookUrl: null,
  });
});

it("sends cookies over HTTPS alone where the page came so", async () => {
  const { origin } = await shown();
  const browser = new Browser(origin);
  const answer = await browser.logIn("token-of-ann", { headers: { Origin: "https://localhost" } });
  expect(answer.status).toBe(303);
  expect(browser.set).toHaveLength(2);
  for (const cookie of browser.set) expect(cookie).toContain("; Secure");
});

it("sends who logged in nowhere else", async () => {
  const { browser } = await shown();
  const elsewhere = [
    "https://evil.example/",
    "//evil.example/",
    "/holdfast/../mcp",
    "/holdfast/\\..\\..\\evil",
    "/holdfast//../../evil",
    "/holdfast/login?token=x",
    "/holdfastly/",
    "javascript:alert(1)",
    "",
  ];
  for (const next of elsewhere)
    expect((await browser.logIn("token-of-ann", { next })).headers.get("location")).toBe("/holdfast/");
  const split = await browser.logIn("token-of-ann", { next: "/holdfast/tasks\r\nSet-Cookie: a=b" });
  expect(split.headers.get("location")).toBe("/holdfast/tasksSet-Cookie:%20a=b");
});

it("says that a token is wrong, and keeps it in no cookie", async () => {
  const { browser } = await shown();
  for (const token of ["other", "", " ", "ü", "a".repeat(3_000)]) {
    const answer = await browser.logIn(token, { next: '/holdfast/tasks/"><script>' });
    expect([token, answer.status]).toEqual([token, 401]);
    const html = await answer.text();
    expect(html).toContain('<p role="alert">This token is not valid.</p>');
    expect(html).toContain('value="/holdfast/tasks/%22%3E%3Cscript%3E"');
    expect(html).not.toContain("<script");
  }
  expect(browser.set).toEqual([]);
});

it("lets nobody guess tokens for long, and has no wait for who is logged in", async () => {
  const events: ServerEvent[] = [];
  const { browser } = await shown({ options: { onEvent: (event) => events.push(event) } });
  const inside = new Browser(new URL((await browser.ask("/holdfast/")).url).origin);
  expect((await inside.logIn("token-of-bob")).status).toBe(303);
  const tries = Array.from({ length: 11 }, (_, at) => browser.logIn(`guess-${at}`));
  const statuses = (await Promise.all(tries)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 401)).toHaveLength(10);
  expect(statuses.filter((status) => status === 429)).toHaveLength(1);
  const refused = await browser.logIn("token-of-ann");
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await refused.text()).toContain('role="alert"');
  expect((await inside.ask("/holdfast/")).status).toBe(200);
  // The first look of a stranger is no refusal of anything.
  const codes = events.map((event) => event.type === "request.refused" && event.code);
  expect(codes.filter((code) => code === "unauthorized")).toHaveLength(10);
  expect(codes.filter((code) => code === "limit_reached")).toHaveLength(2);
});

it("takes forms alone for a login", async () => {
  const { browser } = await shown();
  const json = { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" };
  expect((await browser.ask("/holdfast/login", json)).status).toBe(415);
  expect((await browser.ask("/holdfast/login", { method: "PUT" })).status).toBe(405);
  const large = { method: "POST", body: new URLSearchParams({ token: "a".repeat(17 * 1024) }) };
  expect((await browser.ask("/holdfast/login", large)).status).toBe(413);
});

it("has no login by a link", async () => {
  const { browser } = await shown();
  expect((await browser.ask("/holdfast/login?token=token-of-ann")).status).toBe(200);
  expect((await browser.ask("/holdfast/?token=token-of-ann")).status).toBe(401);
  expect(browser.set).toEqual([]);
});

it("logs out", async () => {
  const { browser } = await shown();
  await browser.logIn("token-of-ann");
  expect((await browser.act("/logout", {})).status).toBe(204);
  expect([...browser.cookies]).toEqual([]);
  expect((await browser.ask("/holdfast/")).status).toBe(401);
});

it("asks an authentication of the author's with the headers of the request", async () => {
  const authenticate = async ({ headers }: Request) => {
    const user = headers.get("x-forwarded-user");
    return user === null ? undefined : { actor: user };
  };
  const { browser } = await shown({ dashboard: { authenticate } });
  expect((await browser.ask("/holdfast/")).status).toBe(401);
  const headers = { "X-Forwarded-User": "eve" };
  expect((await browser.ask("/holdfast/", { headers })).status).toBe(200);
  const session = await browser.ask("/holdfast/session", { headers });
  const { csrf, actor } = (await session.json()) as { csrf: string; actor: string };
  expect([actor, browser.cookies.get("holdfast-csrf")]).toEqual(["eve", csrf]);
  const act = {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json", "X-CSRF-Token": csrf },
  };
  expect((await browser.ask("/holdfast/api/tools/ok/pause", { ...act, body: "{}" })).status).toBe(204);
  // Nor is who comes so locked out by the cookie of an earlier login.
  const stale = { ...headers, Cookie: "holdfast-operator=b3RoZXI" };
  expect((await new Browser(new URL(session.url).origin).ask("/holdfast/", { headers: stale })).status).toBe(
    200,
  );
});

it("prefers what a program sends itself", async () => {
  const { browser } = await shown();
  await browser.logIn("token-of-ann");
  const headers = { Authorization: "Bearer other" };
  expect((await browser.ask("/holdfast/api/tasks", { headers })).status).toBe(401);
  const bob = await browser.ask("/holdfast/session", { headers: { Authorization: "Bearer token-of-bob" } });
  expect(await bob.json()).toMatchObject(operators["token-of-bob"] ?? {});
});

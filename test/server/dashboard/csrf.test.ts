import { expect, it } from "vitest";
import { routes } from "../../../src/admin/endpoint.ts";
import { Browser } from "./browser.ts";
import { shown } from "./shown.ts";

const refused = {
  error: { code: "insufficient_scope", message: expect.stringContaining("X-CSRF-Token") as string },
};
const changing = [
  ...routes.filter(({ method }) => method !== "GET"),
  { method: "POST", path: "/nowhere" },
  { method: "PUT", path: "/tasks" },
].map(({ method, path }) => ({ method, path: `/api${path.replace(/\{\w+\}/, "none")}` }));

it("changes nothing that its own page did not ask for", async () => {
  const { browser, tasks } = await shown();
  await browser.logIn("token-of-ann");
  const csrf = browser.cookies.get("holdfast-csrf") ?? "";
  const another = csrf.replace(/^./, (first) => (first === "a" ? "b" : "a"));
  for (const { method, path } of [
    ...changing,
    { method: "POST", path: "/logout" },
    { method: "POST", path: "/" },
  ]) {
    for (const given of [undefined, "", another, csrf.slice(1), `${csrf}a`]) {
      const headers = given === undefined ? {} : { "X-CSRF-Token": given };
      const answer = await browser.ask(`/holdfast${path}`, { method, headers });
      expect([method, path, given, answer.status]).toEqual([method, path, given, 403]);
      expect(await answer.json()).toMatchObject(refused);
    }
  }
  expect(await tasks.admin.actions()).toMatchObject([{ action: "login" }]);
  expect((await browser.act("/api/tools/ok/pause", {})).status).toBe(204);
  expect(await tasks.admin.actions()).toMatchObject([{ actor: "ann", action: "pause" }, { action: "login" }]);
});

it("takes no token that is in the header alone", async () => {
  const { browser, origin } = await shown();
  await browser.logIn("token-of-ann");
  const csrf = browser.cookies.get("holdfast-csrf") ?? "";
  const alone = new Browser(
    origin,
    new Map([["holdfast-operator", browser.cookies.get("holdfast-operator") ?? ""]]),
  );
  const answer = await alone.ask("/holdfast/api/tools/ok/pause", {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf },
    body: "{}",
  });
  expect(answer.status).toBe(403);
  // What could be no token of ours is replaced.
  const odd = new Browser(origin, new Map([...alone.cookies, ["holdfast-csrf", "short"]]));
  const { csrf: fresh } = await odd.session();
  expect(fresh).toMatch(/^[\w-]{43}$/);
  expect(odd.cookies.get("holdfast-csrf")).toBe(fresh);
});

it("lets an operator who may only read change nothing", async () => {
  const { browser, tasks } = await shown();
  await browser.logIn("token-of-bob");
  expect(await browser.session()).toMatchObject({ actor: "bob", role: "read" });
  for (const { method, path } of changing.filter(
    (each) => each.method === "POST" && !each.path.includes("nowhere"),
  )) {
    const answer = await browser.act(path, {});
    expect([method, path, answer.status]).toEqual([method, path, 403]);
  }
  expect((await browser.ask("/holdfast/api/tasks")).status).toBe(200);
  expect(await tasks.admin.actions()).toMatchObject([{ action: "login" }]);
});

it("refuses pages of others, and names that it is not served under", async () => {
  const { browser } = await shown();
  await browser.logIn("token-of-ann");
  const headers = { Origin: "https://evil.example" };
  for (const path of ["/", "/session", "/api/tasks", "/app.js", "/login"]) {
    const answer = await browser.ask(`/holdfast${path}`, { headers });
    expect([path, answer.status]).toEqual([path, 403]);
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
  }
  expect((await browser.logIn("token-of-ann", { headers })).status).toBe(403);
});

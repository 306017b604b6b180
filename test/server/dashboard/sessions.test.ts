import { serveHttp } from "holdfast/http";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it, onTestFinished, vi } from "vitest";
import { ledgerInMemory, OperatorSessions } from "../../../src/admin/operator-sessions.ts";
import { FakeClock } from "../../../src/testing/clocks.ts";
import { databasePath, operators } from "../admin/operated.ts";
import { Browser } from "./browser.ts";
import { shown } from "./shown.ts";

it("keeps no token in the browser, and records who came and went", async () => {
  const { browser, tasks } = await shown();
  await browser.logIn("token-of-ann");
  expect(JSON.stringify([...browser.cookies])).not.toContain("token-of-ann");
  const encoded = Buffer.from("token-of-ann").toString("base64url");
  expect(JSON.stringify([...browser.cookies])).not.toContain(encoded);
  expect(await tasks.admin.sessions()).toMatchObject([{ actor: "ann", role: "admin" }]);
  const secret = browser.cookies.get("holdfast-operator") ?? "";
  expect(JSON.stringify(await tasks.admin.actions())).not.toContain(secret);
  const stolen = new Browser(new URL((await browser.ask("/holdfast/")).url).origin, new Map(browser.cookies));
  expect((await browser.act("/logout", {})).status).toBe(204);
  // Whoever copied the cookie is out, too.
  expect((await stolen.ask("/holdfast/")).status).toBe(401);
  expect(await tasks.admin.sessions()).toEqual([]);
  expect((await tasks.admin.actions()).map(({ actor, action }) => [actor, action])).toEqual([
    ["ann", "logout"],
    ["ann", "login"],
  ]);
});

it("is known to every process on the store, and ended by an operator in each of them", async () => {
  const path = await databasePath();
  const origins: string[] = [];
  const all = [];
  for (let node = 0; node < 2; node++) {
    const tasks = createTasks({ store: sqliteStore(path), stopDeadlineMs: 100 });
    const server = tasks.server(() => new McpServer({ name: "reports", version: "1" }));
    const authenticate = async ({ headers }: Request): Promise<(typeof operators)[string] | undefined> =>
      operators[headers.get("authorization")?.replace("Bearer ", "") ?? ""];
    const http = await serveHttp(server, { port: 0, anonymous: "shared", dashboard: { authenticate } });
    onTestFinished(() => http.close());
    origins.push(new URL(http.url).origin);
    all.push(tasks);
  }
  const [here, there] = [new Browser(origins[0] ?? ""), origins[1] ?? ""];
  await here.logIn("token-of-bob");
  expect((await here.at(there).ask("/holdfast/")).status).toBe(200);
  const [session] = (await all[1]?.admin.sessions()) ?? [];
  expect(session).toMatchObject({ actor: "bob", role: "read" });
  const acts = all[1]?.admin.as("ann");
  await acts?.endSession(session?.id ?? "");
  await acts?.endSession(session?.id ?? "");
  expect((await all[0]?.admin.actions())?.map(({ actor, action }) => [actor, action])).toEqual([
    ["ann", "logout"],
    ["bob", "login"],
  ]);
  await vi.waitFor(async () => expect((await here.ask("/holdfast/")).status).toBe(401), { timeout: 10_000 });
  expect((await here.at(there).ask("/holdfast/")).status).toBe(401);
});

it("ends with its time, and only of what it has begun", async () => {
  const clock = new FakeClock();
  const sessions = new OperatorSessions(
    ledgerInMemory(() => clock.now()),
    clock,
  );
  const secret = await sessions.begin("ann", "read", 60_000);
  await sessions.begin("bob", "act", 120_000);
  expect(await sessions.find(secret)).toMatchObject({ actor: "ann", role: "read" });
  expect(await sessions.find("other")).toBeUndefined();
  await clock.advance(59_999);
  expect(await sessions.find(secret)).toBeDefined();
  await clock.advance(1);
  expect(await sessions.find(secret)).toBeUndefined();
  expect(await sessions.list()).toMatchObject([{ actor: "bob" }]);
});

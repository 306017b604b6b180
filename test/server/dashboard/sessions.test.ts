import { serveHttp } from "holdfast/http";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type Tasks } from "holdfast";
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

/** A process with a dashboard on that database. */
async function nodeAt(path: string): Promise<{ readonly origin: string; readonly tasks: Tasks }> {
  const tasks = createTasks({ store: sqliteStore(path), stopDeadlineMs: 100 });
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1" }));
  const authenticate = async ({ headers }: Request): Promise<(typeof operators)[string] | undefined> =>
    operators[headers.get("authorization")?.replace("Bearer ", "") ?? ""];
  const http = await serveHttp(server, { port: 0, anonymous: "shared", dashboard: { authenticate } });
  onTestFinished(() => http.close());
  return { origin: new URL(http.url).origin, tasks };
}

it("is known to every process on the store, and ended by an operator in each of them", async () => {
  const path = await databasePath();
  const nodes = [await nodeAt(path), await nodeAt(path)];
  const [origins, all] = [nodes.map(({ origin }) => origin), nodes.map(({ tasks }) => tasks)];
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

it("lets in whoever has just logged in, also where the sessions were looked up a moment ago", async () => {
  const path = await databasePath();
  const nodes = await Promise.all([0, 1].map(async () => nodeAt(path)));
  const [here, there] = nodes.map(({ origin }) => origin) as [string, string];
  for (let time = 0; time < 5; time++) {
    const stranger = new Browser(there, new Map([["holdfast-operator", "A".repeat(43)]]));
    expect((await stranger.ask("/holdfast/")).status).toBe(401);
    const bob = new Browser(here);
    await bob.logIn("token-of-bob");
    expect((await bob.ask("/holdfast/")).status).toBe(200);
    expect((await bob.at(there).ask("/holdfast/")).status).toBe(200);
  }
});

it("sees a logout that is committed after later entries, and after the clock was set back", async () => {
  const clock = new FakeClock();
  const inner = ledgerInMemory(() => clock.now());
  const late: number[] = [];
  const ledger = {
    add: inner.add.bind(inner),
    entries: async (before: number | null, limit: number) =>
      (await inner.entries(before, limit)).filter(({ seq }) => !late.includes(seq)),
  };
  const [one, two] = [new OperatorSessions(ledger, clock), new OperatorSessions(ledger, clock)];
  const secret = await one.begin("mallory", "admin", 86_400_000);
  expect(await two.find(secret)).toBeDefined();
  await clock.advance(2_000);
  const [session] = await one.list();
  late.push(2); // its transaction has its number, and is not committed yet
  await one.end(session?.id ?? "", "ann");
  await inner.add({ actor: "bob", action: "pause" }, {});
  expect(await two.find(secret)).toBeDefined();
  late.length = 0;
  await clock.advance(2_000);
  expect(await two.find(secret)).toBeUndefined();
  clock.jump(-3_600_000);
  const next = await one.begin("mallory", "admin", 86_400_000);
  expect(await two.find(next)).toBeDefined();
  await one.leave(next);
  await clock.advance(2_000);
  expect(await two.find(next)).toBeUndefined();
});

it("goes on where more logins were recorded than are kept in memory", async () => {
  const clock = new FakeClock();
  const ledger = ledgerInMemory(() => clock.now());
  for (let login = 0; login < 10_010; login++) await ledger.add({ actor: "ann", action: "login" }, {});
  const [one, two] = [new OperatorSessions(ledger, clock), new OperatorSessions(ledger, clock)];
  await two.list();
  expect(await two.find(await one.begin("bob", "read", 60_000))).toMatchObject({ actor: "bob" });
});

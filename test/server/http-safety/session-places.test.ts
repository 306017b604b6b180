import { expect, it } from "vitest";
import { SessionHost } from "../session-host.ts";

const minute = 60_000;
const limits = { sessionIdleMs: 30 * minute, unusedSessionMs: minute, maxSessions: 2 };

it("ends a session early that is opened and never used", async () => {
  const host = new SessionHost(limits);
  await (await host.peer().initialize()).text();
  const used = await host.open();
  await host.clock.advance(minute - 1);
  expect(host.sessions.size).toBe(2);
  await host.clock.advance(1);
  expect(host.sessions.size).toBe(1);
  expect(await used.request("ping")).toMatchObject({ result: {} });
});

it("ends an idle session although the clock was set back meanwhile", async () => {
  const host = new SessionHost(limits);
  await (await host.peer().initialize()).text();
  host.clock.jump(-1); // as little as a timer may be early by that clock
  await host.clock.advance(minute);
  expect(host.sessions.size).toBe(0);
});

it("does not keep an unused session longer than a used one", async () => {
  const host = new SessionHost({ sessionIdleMs: 500, unusedSessionMs: minute });
  await (await host.peer().initialize()).text();
  await host.clock.advance(500);
  expect(host.sessions.size).toBe(0);
});

it("gives the place of who has been idle longest to another, once that was a minute", async () => {
  const host = new SessionHost(limits);
  const [first, second] = [await host.open(), await host.open()];
  await host.clock.advance(minute - 1);
  await first.request("ping");
  expect((await host.peer().initialize()).status).toBe(503);
  await host.clock.advance(1);
  const third = await host.open();
  expect((await second.post({ id: 1, method: "ping" })).status).toBe(404);
  expect(await first.request("ping")).toMatchObject({ result: {} });
  expect(await third.request("ping")).toMatchObject({ result: {} });
  expect(host.sessions.size).toBe(2);
});

it("leaves those their places who have a stream open or a call under way", async () => {
  const host = new SessionHost(limits);
  await (await host.open()).listen();
  const call = await (await host.open()).begin("tools/call", { name: "ask_user", arguments: {} });
  await call.message();
  await host.clock.advance(60 * minute);
  expect((await host.peer().initialize()).status).toBe(503);
  expect(host.sessions.size).toBe(2);
  await host.sessions.close();
});

it("gives each place once when several come for them", async () => {
  const host = new SessionHost(limits);
  await Promise.all([host.open(), host.open()]);
  await host.clock.advance(minute);
  const opened = await Promise.all(Array.from({ length: 4 }, () => host.peer().initialize()));
  const statuses = opened.map(({ status }) => status).toSorted((a, b) => a - b);
  expect(statuses).toEqual([200, 200, 503, 503]);
  expect(host.sessions.size).toBe(2);
});

import { remoteAdmin } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { adminToken, createDashboard } from "holdfast/http";
import type { Admin } from "holdfast";
import type { TaskChanges } from "../../../src/admin/admin.ts";
import { served } from "../http-mount/mount.ts";
import { Browser } from "./browser.ts";
import { shown } from "./shown.ts";

/** As the page asks: by its cookies. */
function adminOf(browser: Browser, origin: string): Admin {
  const byCookie: typeof fetch = (input, init) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    return browser.ask(`${pathname}${search}`, init);
  };
  return remoteAdmin(`${origin}/holdfast/api`, { fetch: byCookie });
}

/** Resolves once it is told that the task changed; rejects where nothing more is told. */
async function toldOf(changes: AsyncIterator<TaskChanges>, id: string): Promise<void> {
  for (;;) {
    const { done, value } = await changes.next();
    if (done === true) throw new Error(`Nothing was told of ${id}.`);
    if (value.tasks?.includes(id) === true) return;
  }
}

it("tells the page of changes as they come, for as long as it listens", async () => {
  const { browser, origin, ended } = await shown();
  await browser.logIn("token-of-bob");
  const left = new AbortController();
  onTestFinished(() => left.abort());
  const changes = adminOf(browser, origin).changes({ signal: left.signal })[Symbol.asyncIterator]();
  expect((await changes.next()).value).toEqual({ tasks: null });
  await toldOf(changes, await ended("ok"));
});

it("tells of changes of a server that runs elsewhere", async () => {
  const { origin, ended } = await shown();
  const elsewhere = remoteAdmin(`${origin}/admin`, { token: "token-of-ann" });
  const dashboard = createDashboard(elsewhere, { authenticate: adminToken("s3cret") });
  const apart = await served(dashboard);
  const browser = new Browser(apart.origin);
  await browser.logIn("s3cret");
  const left = new AbortController();
  onTestFinished(() => left.abort());
  const changes = adminOf(browser, apart.origin).changes({ signal: left.signal })[Symbol.asyncIterator]();
  expect((await changes.next()).value).toEqual({ tasks: null });
  await toldOf(changes, await ended("ok"));
});

it("ends streams with its server, which does not wait for them", async () => {
  const { browser, http } = await shown({ options: { stopDeadlineMs: 60_000 } });
  await browser.logIn("token-of-ann");
  const { body, headers } = await browser.ask("/holdfast/api/changes");
  expect(headers.get("content-type")).toMatch(/^text\/event-stream/);
  expect(headers.get("content-encoding")).toBeNull();
  const reader = body?.getReader();
  expect((await reader?.read())?.done).toBe(false);
  await http.close();
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read());
});

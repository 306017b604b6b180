import { hostname } from "node:os";
import { createServer } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { memoryStore } from "holdfast/memory";
import { operated } from "../server/admin/operated.ts";
import { Browser } from "../server/dashboard/browser.ts";
import { startHoldfast, type RunningCli, type RunOptions } from "./run-cli.ts";
import { runMain } from "./run-main.ts";
import { adminJson, call, serve, somePlace, type Place } from "./admin/some-place.ts";

/** A server on a file with a task that has ended. */
async function served(): Promise<{ readonly place: Place; readonly id: string }> {
  const place = await somePlace("SQLite");
  const runtime = await serve(place, (tools) => {
    tools.add("load", {}, () => ({ content: [{ type: "text", text: "<b>loaded</b>" }] }));
  });
  const id = await call(runtime, "load");
  await expect.poll(() => adminJson(place, "show", id)).toMatchObject({ state: "completed" });
  return { place, id };
}

/** The command, with a browser that has opened its link. */
async function opened(
  words: readonly string[],
  options: RunOptions = {},
): Promise<{ readonly run: RunningCli; readonly browser: Browser; readonly link: URL }> {
  const run = startHoldfast(["dashboard", ...words], options);
  const [text] = await run.printed(/http:\/\/\S+\?token=[\w-]{43}(?=\s|")/);
  const link = new URL(text);
  const browser = new Browser(link.origin);
  const answer = await browser.ask(`${link.pathname}${link.search}`);
  expect([answer.status, answer.headers.get("location")]).toEqual([303, link.pathname.replace(/login$/, "")]);
  return { run, browser, link };
}

describe("holdfast dashboard", { timeout: 60_000 }, () => {
  it("serves the page of a store beside its server, for who has its link, until Ctrl-C", async () => {
    const { place, id } = await served();
    const { run, browser, link } = await opened([place.url, "--as", "ann"]);
    expect([link.hostname, link.pathname]).toEqual(["127.0.0.1", "/holdfast/login"]);
    await run.told(/^Anyone with this link can act as ann\. Press Ctrl-C to stop\.$/m);
    expect((await browser.ask("/holdfast/")).status).toBe(200);
    expect(await browser.session()).toMatchObject({ actor: "ann", role: "admin" });
    expect(await (await browser.ask(`/holdfast/api/tasks/${id}`)).json()).toMatchObject({ id });
    expect((await browser.act("/api/tools/load/pause", {})).status).toBe(204);
    expect(await adminJson(place, "actions")).toMatchObject({
      actions: [
        { actor: "ann", action: "pause" },
        { actor: "ann", action: "read" },
        { actor: "ann", action: "login" },
        { action: "read" },
      ],
    });
    const stranger = new Browser(link.origin);
    expect((await stranger.ask("/holdfast/")).status).toBe(401);
    expect((await stranger.ask("/holdfast/login?token=other")).status).toBe(401);
    run.kill("SIGINT");
    const { code, stdout, stderr } = await run.ended;
    expect([code, stdout.split("\n").length, stderr.split("\n").length]).toEqual([130, 2, 2]);
    await expect(browser.ask("/holdfast/")).rejects.toThrow();
  });

  it("lets look only, where and as it is told", async () => {
    const { place } = await served();
    const { run, browser, link } = await opened([place.url, "--read-only", "--path", "/ops/tasks", "--json"]);
    expect(link.pathname).toBe("/ops/tasks/login");
    const session = await browser.ask("/ops/tasks/session");
    const { csrf, ...who } = (await session.json()) as { csrf: string };
    expect(who).toMatchObject({ actor: expect.stringContaining(`@${hostname()}`) as string, role: "read" });
    const headers = { "Content-Type": "application/json", "X-CSRF-Token": csrf };
    const paused = await browser.ask("/ops/tasks/api/tools/load/pause", {
      method: "POST",
      headers,
      body: "{}",
    });
    expect(paused.status).toBe(403);
    run.kill("SIGTERM");
    const { code, stdout, stderr } = await run.ended;
    expect([code, JSON.parse(stdout), stderr]).toEqual([143, { link: link.href }, ""]);
  });

  it("shows a server through its admin endpoint, under the name that its token has there", async () => {
    const { origin, ended, tasks } = await operated({ store: memoryStore() });
    const id = await ended("ok");
    const env = { HOLDFAST_ADMIN_TOKEN: "token-of-ann" };
    const { run, browser } = await opened([`${origin}/admin`], { env });
    expect(await browser.session()).toMatchObject({ actor: `token of ${new URL(origin).host}` });
    expect(await (await browser.ask(`/holdfast/api/tasks/${id}`)).json()).toMatchObject({ id });
    expect((await browser.act("/api/tools/ok/pause", {})).status).toBe(204);
    expect((await tasks.admin.actions()).filter(({ action }) => action !== "login")).toMatchObject([
      { actor: "ann", action: "pause" },
      { actor: "ann", action: "read" },
    ]);
    run.kill("SIGINT");
    expect((await run.ended).code).toBe(130);
  });
});

it("says what is wrong before it serves anything", async () => {
  const { place } = await served();
  const { origin } = await operated();
  const taken = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void taken.close());
  await once(taken, "listening");
  // A server that listens on TCP has an address with a port.
  const { port } = taken.address() as AddressInfo;
  const run = (...words: string[]) =>
    runMain(["dashboard", ...words], { env: { HOLDFAST_ADMIN_TOKEN: "other" } });
  expect(await run(place.url, "--port", String(port))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("in use") as string,
  });
  expect(await run(place.url, "--port", "http")).toMatchObject({ code: 2 });
  expect(await run(place.url, "--path", "tasks")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('path must be a path such as "/ops", not "tasks"') as string,
  });
  expect(await run(`${origin}/admin`)).toMatchObject({ code: 6, stdout: "" });
  expect(await run(`${origin}/admin`, "--as", "ann")).toMatchObject({ code: 2 });
  expect(await run(`${place.cwd}/none.db`)).toMatchObject({ code: 6, stdout: "" });
});

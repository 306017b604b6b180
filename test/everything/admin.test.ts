import { remoteAdmin } from "holdfast/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { EverythingServer } from "../conformance/everything-server.ts";
import { Browser } from "../server/dashboard/browser.ts";
import { RawClient, withTasks } from "../conformance/raw-client.ts";

async function started(env: Readonly<Record<string, string>>): Promise<string> {
  const server = new EverythingServer({ env });
  onTestFinished(async () => void (await server.stop("SIGKILL")));
  return server.url;
}

describe("the admin endpoint of the everything server", { timeout: 60_000 }, () => {
  it("is for its own token only", async () => {
    const url = await started({ EVERYTHING_TOKENS: "a1=alice", EVERYTHING_ADMIN_TOKEN: "0perator" });
    const base = new URL("/admin", url);
    const client = new RawClient(url, withTasks, { authorization: "Bearer a1" });
    const id = await client.start("failing_job");
    await client.until(id);
    const admin = remoteAdmin(base.href, { token: "0perator" });
    expect((await admin.list({ states: ["failed"] })).tasks).toMatchObject([{ id, principal: "alice" }]);
    const again = await admin.as("anybody").retry(id);
    expect(await client.until(again.id)).toMatchObject({ taskId: again.id });
    expect(await admin.actions()).toMatchObject([
      { action: "retry", detail: { ranAgainAs: again.id }, actor: "operator" },
    ]);
    for (const token of ["a1", "other"])
      await expect(remoteAdmin(base.href, { token }).list()).rejects.toMatchObject({
        code: "unauthenticated",
      });
    const refused = await fetch(`${base.href}/tasks`);
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="admin"']);
    const notACaller = new RawClient(url, withTasks, { authorization: "Bearer 0perator" });
    expect((await notACaller.send("server/discover")).status).toBe(401);
  });

  it("has the dashboard beside it", async () => {
    const url = await started({ EVERYTHING_TOKENS: "a1=alice", EVERYTHING_ADMIN_TOKEN: "0perator" });
    const browser = new Browser(new URL(url).origin);
    expect((await browser.ask("/holdfast/")).status).toBe(401);
    expect((await browser.logIn("a1")).status).toBe(401);
    expect((await browser.logIn("0perator")).status).toBe(303);
    expect(await (await browser.ask("/holdfast/")).text()).toContain("app.js");
    expect(await browser.session()).toMatchObject({ actor: "operator", role: "admin" });
  });

  it("is not there without one", async () => {
    const url = await started({});
    for (const path of ["/admin", "/admin/tasks", "/admin/openapi.json", "/holdfast", "/holdfast/login"])
      expect((await fetch(new URL(path, url), { headers: { Authorization: "Bearer x" } })).status).toBe(404);
  });

  it("is not opened by a token that a caller has, nor by none", async () => {
    const cases: [env: Record<string, string>, message: RegExp][] = [
      [
        { EVERYTHING_TOKENS: "s3cret=ada", EVERYTHING_ADMIN_TOKEN: "s3cret" },
        /^EVERYTHING_ADMIN_TOKEN is a token of (?!.*s3cret).*\n$/,
      ],
      [{ EVERYTHING_ADMIN_TOKEN: "" }, /^adminToken needs a token .*\n$/],
    ];
    for (const [env, message] of cases) {
      const { code, stdout, stderr } = await new EverythingServer({ env }).ended;
      expect(stderr).toMatch(message);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    }
  });
});

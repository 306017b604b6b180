import type { BulkJobShown } from "../../../src/admin/task-operations.ts";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type OperatorSession } from "holdfast";
import { adminToken, serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod";
import { served as mounted } from "../../server/http-mount/mount.ts";
import { Browser } from "../../server/dashboard/browser.ts";
import { folder, type Run } from "../run-cli.ts";
import { runMain } from "../run-main.ts";

const token = "of-the-operators-0123456789";

/** A server with an admin endpoint, and a task that failed. */
async function served(): Promise<{ readonly url: string; readonly id: string }> {
  const tasks = createTasks({ store: memoryStore() });
  tasks.tool("load", { description: "Loads", inputSchema: z.object({}) }, () => {
    throw new Error("no tape");
  });
  const http = await serveHttp(
    tasks.server(() => new McpServer({ name: "s", version: "1" })),
    {
      port: 0,
      anonymous: "shared",
      admin: { path: "/admin", authenticate: adminToken(token, "on-call") },
      dashboard: { authenticate: adminToken(token, { actor: "ann", role: "act" }) },
    },
  );
  onTestFinished(() => http.close());
  const call = await runMain(["call", http.url, "load", "--json"], {
    env: { HOLDFAST_STATE: await folder() },
  });
  expect(call.code).not.toBe(6);
  const url = new URL("/admin", http.url).href;
  const { tasks: found } = JSON.parse((await admin(url, "list", "--json")).stdout) as {
    readonly tasks: readonly { readonly id: string }[];
  };
  return { url, id: found[0]?.id ?? "" };
}

const admin = (url: string, ...words: readonly string[]): Promise<Run> =>
  runMain(["admin", url, ...words], { env: { HOLDFAST_ADMIN_TOKEN: token } });

it("does the same through an admin endpoint", async () => {
  const { url, id } = await served();
  expect(await admin(url, "list")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`${id}\tfailed\tload\t`) as string,
  });
  expect((await admin(url, "show", id.slice(0, 16))).stdout).toContain("no tape");
  expect((await admin(url, "failures", "load")).stdout).toMatch(new RegExp(`^1\t.*\t${id}\tno tape\n$`));
  expect((await admin(url, "retry", "--all", "--state", "failed", "--limit", "1")).stdout).toBe(
    "1 task was run again\n",
  );
  expect((await admin(url, "actions")).stdout).toMatch(/\ton-call\tretry\t/);
  expect((await admin(url, "pause", "load")).stdout).toBe("paused load\n");
  expect((await admin(url, "counts")).stdout).toContain("\ton-call since");
  expect(await admin(url, "delete", id)).toMatchObject({ code: 0 });
  expect(await admin(url, "show", id)).toMatchObject({ code: 5 });
});

it("lists who is logged in to the dashboard, and logs an operator out", async () => {
  const { url } = await served();
  const browser = new Browser(new URL(url).origin);
  await browser.logIn(token);
  const { sessions } = JSON.parse((await admin(url, "sessions", "--json")).stdout) as {
    readonly sessions: readonly OperatorSession[];
  };
  expect(sessions).toMatchObject([{ actor: "ann", role: "act" }]);
  const [{ id } = { id: "" }] = sessions;
  expect((await admin(url, "sessions")).stdout).toMatch(new RegExp(`^${id}\tann\tact\t`));
  expect(await admin(url, "end-session", "none")).toMatchObject({ code: 2 });
  expect((await admin(url, "end-session", id.slice(0, 8))).stdout).toBe(`ended ${id}\n`);
  expect(await admin(url, "sessions")).toMatchObject({ code: 0, stdout: "" });
  expect((await admin(url, "actions")).stdout).toMatch(/\ton-call\tlogout\t/);
});

it("needs a token, which is the operator's, and an endpoint that answers", async () => {
  const { url } = await served();
  expect(await runMain(["admin", url, "list"])).toEqual({
    code: 2,
    stdout: "",
    stderr: "holdfast: An admin endpoint needs a token: set HOLDFAST_ADMIN_TOKEN.\n",
  });
  const env = { HOLDFAST_ADMIN_TOKEN: "of-somebody-else" };
  expect(await runMain(["admin", url, "list"], { env })).toMatchObject({ code: 6, stdout: "" });
  expect((await admin(url, "pause", "load", "--as", "eve")).stderr).toContain(
    "identifies the operator by the token",
  );
  expect(await admin(new URL("/mcp", url).href, "list")).toMatchObject({
    stdout: "",
    stderr: expect.stringContaining("admin endpoint") as string,
  });
  expect(await admin("http://127.0.0.1:1/admin", "list")).toMatchObject({ code: 6 });
});

const job: BulkJobShown = {
  job: "j",
  state: "done",
  action: "cancel",
  actor: "ann",
  selection: {},
  options: {},
  counts: { total: 2, open: 0, done: 1, refused: 1 },
  createdAt: 1,
  startedAt: 2,
  endedAt: 3,
  cancelledBy: null,
  done: ["a"],
  created: [],
  refused: [{ id: "c", code: "finished", message: "Task c has ended." }],
};

/** An endpoint that answers so many requests about a job, and then fails. */
async function failing(answers: number): Promise<string> {
  let requests = 0;
  const { origin } = await mounted((request, response) => {
    request.resume();
    const failed = requests++ >= answers;
    const answer = failed ? { error: { code: "store_failed", message: "The disk is full." } } : job;
    response.writeHead(failed ? 503 : 200).end(JSON.stringify(answer));
  });
  return `${origin}/admin`;
}

it("says what is known of many tasks where the endpoint fails", async () => {
  expect(await admin(await failing(2), "cancel", "--all", "--yes")).toMatchObject({
    code: 6,
    stdout: "1 task was cancelled\n",
    stderr: expect.stringContaining("The disk is full.") as string,
  });
  const { code, stdout } = await admin(await failing(2), "cancel", "--all", "--yes", "--json");
  expect([code, JSON.parse(stdout)]).toMatchObject([
    6,
    { job: "j", done: ["a"], error: "The disk is full." },
  ]);
});

it("says what some of many tasks have refused, and does the others", async () => {
  expect(await admin(await failing(9), "cancel", "--all", "--yes")).toEqual({
    code: 3,
    stdout: "1 task was cancelled\n",
    stderr: "refused: c: Task c has ended.\n",
  });
});

it("lets a process take nothing new, says when it is empty, and lets it take work again", async () => {
  const { url } = await served();
  // Until the process has reported, nobody knows that it runs tasks.
  const refused = await vi.waitUntil(
    async () => {
      const run = await admin(url, "drain", "zz");
      return run.stderr.includes("No process serves this store") ? undefined : run;
    },
    { timeout: 30_000, interval: 200 },
  );
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("No process has the id zz. These serve the store: ") as string,
  });
  expect((await admin(url, "drain", "--within", "5s")).stdout).toMatch(/:\d+ is empty: it can be stopped\n$/);
  expect((await admin(url, "nodes")).stdout).toContain("\tempty\t");
  expect((await admin(url, "drain", "--undo")).stdout).toMatch(/ takes work again\n$/);
});

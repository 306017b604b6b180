import type { Admin } from "holdfast";
import type { Operator } from "holdfast/http";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { routes } from "../../../src/admin/endpoint.ts";
import { includesRole, roles, type OperatorRole } from "../../../src/admin/roles.ts";
import { text } from "../../kit/messages.ts";
import { operated } from "./operated.ts";

/** Which role each operation needs. An operation that is new has to be decided on here, too. */
const needed: Readonly<Record<string, OperatorRole>> = {
  listTasks: "view",
  showTask: "view",
  listTimeline: "view",
  readArtifact: "read",
  countTasks: "view",
  listWebhooks: "view",
  showActivity: "view",
  listNodes: "view",
  showBulkJob: "read",
  listActions: "view",
  followTasks: "view",
  listSessions: "admin",
  endSession: "admin",
  listIncidents: "view",
  listDeliveries: "view",
  listFailures: "view",
  listCallers: "read",
  showLatency: "view",
  markIncident: "act",
  cancelTask: "act",
  answerTask: "act",
  retryTask: "act",
  extendTask: "act",
  unblockTask: "act",
  deleteTask: "admin",
  pauseTool: "act",
  resumeTool: "act",
  drainNode: "admin",
  resendWebhook: "act",
  changeTasks: "act",
  cancelBulkJob: "act",
};

it("lets each role use what needs it or less, and nothing else", async () => {
  const tokens: Readonly<Record<string, Operator>> = Object.fromEntries(
    roles.map((role) => [role, { actor: `somebody with ${role}`, role }]),
  );
  const authenticate = async ({ headers }: Request): Promise<Operator | undefined> =>
    tokens[headers.get("authorization")?.replace("Bearer ", "") ?? ""];
  const { ask, tasks } = await operated({ http: { admin: { authenticate } } });
  expect(routes.map(({ id }) => id).toSorted()).toEqual(Object.keys(needed).toSorted());
  for (const role of roles) {
    for (const { id, method, path } of routes) {
      const body = method === "POST" ? {} : undefined;
      const { status } = await ask(method, path.replaceAll(/\{\w+\}/g, "none"), { token: role, body });
      const isAllowed = includesRole(role, needed[id] ?? "admin");
      expect([role, id, status !== 403]).toEqual([role, id, isAllowed]);
    }
  }
  const bulk = { action: "delete", selection: {}, options: { dryRun: true } };
  expect((await ask("POST", "/bulk", { token: "act", body: bulk })).status).toBe(403);
  expect((await ask("POST", "/bulk", { token: "admin", body: bulk })).status).toBe(200);
  // Ending soon is as good as deleting.
  const soon = { action: "extend", selection: {}, options: { until: Date.now() + 3_600_000 } };
  const later = { ...soon, options: { until: Date.now() + 2 * 86_400_000 } };
  expect((await ask("POST", "/bulk", { token: "act", body: soon })).status).toBe(403);
  expect((await ask("POST", "/bulk", { token: "admin", body: soon })).status).toBe(200);
  expect((await ask("POST", "/bulk", { token: "act", body: later })).status).toBe(200);
  // A job that was previewed when its end was far ahead, or by an admin, is started with its end.
  const preview = { ...soon, options: { ...soon.options, dryRun: true } };
  const { job } = (await ask("POST", "/bulk", { token: "admin", body: preview })).body as { job: string };
  const start = async (token: string, options: object): Promise<number> =>
    (await ask("POST", "/bulk", { token, body: { ...soon, options } })).status;
  expect(await start("act", { job })).toBe(403);
  expect(await start("act", { job, until: soon.options.until })).toBe(403);
  expect(await start("act", { job, until: later.options.until })).toBe(400);
  expect(await start("admin", { job })).toBe(200);
  const end = (until: number): Promise<{ readonly status: number }> =>
    ask("POST", "/tasks/none/extend", { token: "act", body: { until } });
  expect((await end(soon.options.until)).status).toBe(403);
  expect((await end(later.options.until)).status).toBe(404);
  expect((await ask("GET", "/tasks?text=a", { token: "read" })).status).toBe(200);
  expect(await ask("GET", "/tasks?text=a", { token: "view" })).toMatchObject({
    status: 403,
    body: {
      error: {
        code: "insufficient_scope",
        message: 'This operator has the role "view". listTasks needs the role "read" for this request.',
      },
    },
  });
  // Programs with the store open are no operators of an endpoint.
  expect(await tasks.admin.list({ text: "a" })).toMatchObject({ tasks: [] });
});

/** Stands in all that a caller, a handler and an operator can say. */
const secret = "ada-lovelace-1815";

it("shows those who may only view nothing of what tasks say", async () => {
  const authenticate = async ({ headers }: Request): Promise<Operator | undefined> => {
    const role = roles.find((each) => headers.get("authorization") === `Bearer ${each}`);
    return role && { actor: "bob", role };
  };
  const { tasks, peer, remote } = await operated({
    options: {
      webhooks: [
        {
          name: "hook",
          url: "https://127.0.0.1:1/",
          secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
          allowPrivate: ["127.0.0.1"],
        },
      ],
    },
    http: { admin: { authenticate } },
  });
  const inputSchema = z.object({ name: z.string() });
  tasks.tool("says", { inputSchema }, async ({ name }, task) => {
    await task.status(name);
    task.progress(1, 2, name);
    await task.log("info", name);
    await task.output(text(name).content[0] ?? name);
    await task.artifact("report", name);
    return text(name);
  });
  tasks.tool("wonders", { inputSchema }, async ({ name }, task) => {
    await task.elicit("go", { message: name, requestedSchema: { type: "object", properties: {} } });
    return text(name);
  });
  tasks.tool("breaks", { inputSchema }, async ({ name }, task) => {
    await task.step("try", () => Promise.reject(new Error(`no ${name}`)));
    return text(name);
  });
  const ids: string[] = [];
  for (const tool of ["says", "wonders", "breaks"]) ids.push(await peer.start(tool, { name: secret }));
  const [says = "", asks = "", fails = ""] = ids;
  await peer.ended(says);
  await peer.until(asks, "input_required");
  await peer.ended(fails);
  await tasks.admin.as("ann").retry(says, { arguments: { name: secret } });
  await tasks.admin.as("ann").bulk("extend", { text: secret }, { until: null });
  await vi.waitFor(async () =>
    expect((await tasks.admin.webhooks()).some(({ lastFailure }) => lastFailure !== null)).toBe(true),
  );

  const everything = async (admin: Admin): Promise<readonly unknown[]> => [
    await admin.list(),
    ...(await Promise.all(ids.map((id) => admin.show(id)))),
    ...(await Promise.all(ids.map((id) => admin.timeline(id)))),
    await admin.actions(),
    await admin.counts(),
    await admin.incidents(),
    await admin.failures("breaks"),
    await admin.latency("breaks"),
    await admin.webhooks(),
  ];
  const [seen, read] = [await everything(remote("view")), await everything(remote("read"))];
  expect(JSON.stringify(seen)).not.toContain("ada");
  expect(JSON.stringify(seen)).not.toContain("ECONNREFUSED");
  // What is hidden is hidden on purpose: the rest is the same.
  for (const [place, answer] of read.entries())
    expect(Object.keys(seen[place] as object)).toEqual(Object.keys(answer as object));
  expect(JSON.stringify(read).split(secret).length).toBeGreaterThan(12);
  expect(seen[1]).toMatchObject({ id: says, tool: "says", state: "completed", arguments: null, log: [] });
  expect(seen[3]).toMatchObject({
    state: "failed",
    error: null,
    outcome: { kind: "error_result", body: null },
  });
});

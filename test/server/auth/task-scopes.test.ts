import { describe, expect, it } from "vitest";
import type { TasksOptions } from "holdfast";
import { withTask } from "../../../src/generation/sep-1686.ts";
import { form } from "../prepare-caller.ts";
import { type Message, text } from "../../kit/messages.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { Subscription } from "../../kit/subscription.ts";
import { fourTools, ticketOf } from "../plain/job.ts";
import { about, related } from "../sep-1686/sep.ts";
import { metadataUrl, protectedServer, type ProtectedServer } from "./protected-server.ts";

/** `send` needs the scope `send`, asks one question and says what it was answered; `free` needs nothing and waits. */
function guarded(options: Partial<TasksOptions> = {}): Promise<ProtectedServer> {
  return protectedServer(
    { scopes: { required: ["mcp"], tools: { send: ["send"] }, tasks: ["tasks"] } },
    {
      options,
      tools: (tasks) => {
        tasks.tool("send", {}, async (_, task) => {
          const { action, content } = await task.elicit("name", form("Name?"));
          return text(`${action} ${String(content?.["name"])}`);
        });
        tasks.tool("free", {}, async (_, task) => (await task.sleep("long", 3_600_000), text("free")));
      },
    },
  );
}

const full = "mcp tasks send";
const less = "mcp tasks";
const challenge = `Bearer error="insufficient_scope", error_description="The token lacks a required scope", scope="mcp tasks send", resource_metadata="${metadataUrl}"`;
const answer = { action: "accept", content: { name: "Ann" } };

function expectRefused({ status, headers }: { status: number; headers: Headers }): void {
  expect([status, headers.get("www-authenticate")]).toEqual([403, challenge]);
}

describe("2026-07-28, a task whose tool needs a scope", () => {
  it("is read, answered and cancelled with that scope only, and is unknown to others", async () => {
    const { url, as } = await guarded();
    const peer = new StatelessClient(url);
    const [ann, weak, bob] = [await as("ann", full), await as("ann", less), await as("bob", less)];
    const taskId = await peer.start("send", {}, ann);
    const asked = async (): Promise<unknown> => (await peer.get(taskId, ann))["status"];
    while ((await asked()) !== "input_required") await new Promise(setImmediate);
    const requests = [
      ["tasks/get", { taskId }],
      ["tasks/update", { taskId, inputResponses: { name: answer } }],
      ["tasks/cancel", { taskId }],
    ] as const;
    for (const [method, params] of requests) {
      expectRefused(await peer.send(method, params, weak));
      expect((await peer.send(method, params, bob)).error?.code).toBe(-32602);
      expect(await asked()).toBe("input_required");
    }
    const free = await peer.start("free", {}, weak);
    expect(await peer.get(free, weak)).toMatchObject({ taskId: free });
    await peer.result("tasks/update", { taskId, inputResponses: { name: answer } }, ann);
    while ((await asked()) !== "completed") await new Promise(setImmediate);
  });

  it("is left out where somebody listens without the scope", async () => {
    const { url, as } = await guarded();
    const peer = new StatelessClient(url);
    const [ann, weak] = [await as("ann", full), await as("ann", less)];
    const taskIds = [await peer.start("send", {}, ann), await peer.start("free", {}, ann)];
    const accepted = async ({ headers }: typeof ann): Promise<unknown> => {
      const listener = await Subscription.to(url, { taskIds }, { headers });
      const { params } = (await listener.next()) as { params: { notifications: Message } };
      await listener.leave();
      return params.notifications["taskIds"];
    };
    expect(await accepted(weak)).toEqual([taskIds[1]]);
    expect(await accepted(ann)).toEqual(taskIds);
  });
});

const resultOf = (message: Message): Message => message["result"] as Message;
const idsIn = (list: Message): unknown[] =>
  (resultOf(list)["tasks"] as Message[]).map(({ taskId }) => taskId);

describe("2025-11-25, a task whose tool needs a scope", () => {
  it("is read and cancelled with that scope only, and listed to nobody else", async () => {
    const { session } = await guarded();
    const [ann, weak, bob] = await Promise.all([
      session("ann", full),
      session("ann", less),
      session("bob", less),
    ]);
    const start = async (name: string): Promise<unknown> => {
      const created = await ann.request("tools/call", { name, task: {} });
      return (resultOf(created)["task"] as Message)["taskId"];
    };
    const [free, taskId] = [await start("free"), await start("send")];
    for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
      expectRefused(await weak.post({ id: 9, method, params: { taskId } }));
      expect(await bob.request(method, { taskId })).toMatchObject({ error: { code: -32602 } });
    }
    expect(idsIn(await weak.request("tasks/list"))).toEqual([free]);
    expect(idsIn(await ann.request("tasks/list"))).toEqual([taskId, free]);
    expect(resultOf(await ann.request("tasks/cancel", { taskId }))).toMatchObject({ status: "cancelled" });
  });

  it("makes no page of a list shorter", async () => {
    const { session } = await guarded();
    const ann = await session("ann", full);
    const start = (name: string): Promise<Message> => ann.request("tools/call", { name, task: {} });
    await start("free");
    await Promise.all(Array.from({ length: 60 }, () => start("send")));
    await start("free");
    const page = resultOf(await (await session("ann", less)).request("tasks/list"));
    expect(page["tasks"]).toHaveLength(2);
    expect(page).not.toHaveProperty("nextCursor");
  });
});

describe("SEP-1686, a task whose tool needs a scope", () => {
  it("is read, cancelled and deleted with that scope only, and listed to nobody else", async () => {
    const { url, as } = await guarded();
    const open = async (who: string, scope: string): Promise<SessionClient> =>
      SessionClient.open(url, { version: "2025-06-18", ...(await as(who, scope)) });
    const [ann, weak, bob] = await Promise.all([open("ann", full), open("ann", less), open("bob", less)]);
    for (const name of ["free", "send"]) {
      const call = await ann.begin("tools/call", withTask({ name, arguments: {} }, { taskId: name }));
      expect(await call.message()).toMatchObject({ method: "notifications/tasks/created" });
    }
    const cancelled = { requestId: 3, _meta: related("send") };
    expect((await weak.post({ method: "notifications/cancelled", params: cancelled })).status).toBe(403);
    for (const method of ["tasks/get", "tasks/result", "tasks/delete"]) {
      expectRefused(await weak.post({ id: 9, method, params: about("send") }));
      expect(await bob.request(method, about("send"))).toMatchObject({ error: { code: -32602 } });
    }
    expect(idsIn(await weak.request("tasks/list"))).toEqual(["free"]);
    expect(new Set(idsIn(await ann.request("tasks/list")))).toEqual(new Set(["free", "send"]));
    expect(resultOf(await ann.request("tasks/get", about("send")))["status"]).not.toBe("cancelled");
  });
});

describe("a call with a ticket whose tool needs a scope", () => {
  it("is waited for, answered, stopped and listed with that scope only", async () => {
    const { url, as } = await guarded({ plain: "ticket", plainDeadlineMs: 20, pollingTools: fourTools });
    const peer = new StatelessClient(url);
    const [ann, weak] = [await as("ann", full), await as("ann", less)];
    const plain = { capabilities: {} };
    const call = (name: string, args: object, who: typeof ann): ReturnType<StatelessClient["call"]> =>
      peer.call(name, args, { ...plain, ...who });
    const { reference } = ticketOf((await call("send", {}, ann)).result);
    for (const typed of [reference, reference.replace("-", " ").toLowerCase()]) {
      expectRefused(await call("task_result", { reference: typed }, weak));
      expectRefused(await call("task_answer", { reference: typed, answer: { name: "Eve" } }, weak));
      expectRefused(await call("task_cancel", { reference: typed }, weak));
    }
    const list = async (who: typeof ann): Promise<string> =>
      JSON.stringify((await call("task_list", {}, who)).result);
    expect(await list(weak)).not.toContain(reference);
    expect(await list(ann)).toContain(reference);
    await call("task_answer", { reference, answer: { name: "Ann" } }, ann);
    expect((await call("task_result", { reference }, ann)).result).toMatchObject(text("accept Ann"));
  });
});

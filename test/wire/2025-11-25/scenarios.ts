import type { Stage } from "./stage.ts";
import type { Message } from "./transcript.ts";

type Scenario = (stage: Stage) => Promise<void>;

const reportId = "q3-sales";
const accept = { action: "accept", content: { name: "A4" } };
const content = { type: "text", text: "Sales rose." };
const sampled = { role: "assistant", model: "m-1", content };
const progressToken = "rr-2";

/** Each one is a conversation with a server of its own, and two golden files of the same name. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  async "what-is-declared"(stage) {
    await stage.open();
    await stage.request("tools/list");
  },

  async completed(stage) {
    await stage.open();
    const params = { task: { ttl: 60_000 }, _meta: { progressToken } };
    const taskId = await stage.start("render", { reportId }, params);
    await stage.request("tasks/get", { taskId });
    const waiting = await stage.begin("tasks/result", { taskId });
    const task = await stage.rendering;
    task.progress(3, 14, "Page 3 of 14");
    await stage.heard("notifications/progress");
    await task.status("half way");
    await stage.heard("notifications/tasks/status", ({ statusMessage }) => statusMessage === "half way");
    stage.rendered(14);
    await stage.status("completed");
    await stage.answer(waiting);
    await stage.request("tasks/get", { taskId });
    await stage.request("tasks/result", { taskId });
    await stage.request("tasks/list");
  },

  async failed(stage) {
    await stage.open();
    for (const name of ["refuse", "break"]) {
      const taskId = await stage.start(name);
      await stage.heard("notifications/tasks/status", (params) => params["taskId"] === taskId);
      await stage.request("tasks/get", { taskId });
      await stage.request("tasks/result", { taskId });
    }
  },

  async input(stage) {
    await stage.open();
    const taskId = await stage.start("ask");
    await stage.status("input_required");
    const asked = await stage.heard("elicitation/create");
    await stage.request("tasks/get", { taskId });
    await stage.reply(asked, accept);
    await stage.status("completed");
    await stage.request("tasks/result", { taskId });
  },

  async "input-on-the-request"(stage) {
    await stage.open({ elicitation: {} }, false);
    const taskId = await stage.start("ask");
    const waiting = await stage.begin("tasks/result", { taskId });
    const asked = await stage.heard("elicitation/create");
    await stage.reply(asked, accept);
    await stage.status("completed");
    await stage.answer(waiting);
  },

  async "sampling-as-a-task"(stage) {
    const requests = { sampling: { createMessage: {} } };
    await stage.open({ sampling: {}, tasks: { cancel: {}, requests } });
    const taskId = await stage.start("sum_up", {}, { _meta: { progressToken } });
    await stage.heard("notifications/progress");
    const asked = await stage.heard("sampling/createMessage");
    const time = "2026-01-12T08:00:10Z";
    const task = { taskId: "cl-1", createdAt: time, lastUpdatedAt: time, ttl: null, pollInterval: 100 };
    await stage.reply(asked, { task: { ...task, status: "working" } });
    await stage.reply(await stage.heard("tasks/get"), { ...task, status: "completed" });
    await stage.reply(await stage.heard("tasks/result"), sampled);
    await stage.status("completed");
    await stage.request("tasks/result", { taskId });
  },

  async cancelled(stage) {
    await stage.open(undefined, false); // with one stream, the question waits for `tasks/result`
    const taskId = await stage.start("ask");
    const waiting = await stage.begin("tasks/result", { taskId });
    const { id } = await stage.heard("elicitation/create");
    await stage.request("tasks/cancel", { taskId });
    await stage.heard("notifications/cancelled", ({ requestId }) => requestId === id);
    await stage.answer(waiting);
    await stage.request("tasks/get", { taskId });
    await stage.request("tasks/cancel", { taskId });
  },

  async "without-a-task"(stage) {
    await stage.open();
    const asks = await stage.begin("tools/call", { name: "ask", arguments: {} });
    await stage.reply(await stage.heard("elicitation/create"), accept);
    await stage.answer(asks);
    const params = { name: "sum_up", arguments: {}, _meta: { progressToken } };
    const sums = await stage.begin("tools/call", params);
    await stage.heard("notifications/progress");
    await stage.reply(await stage.heard("sampling/createMessage"), sampled);
    await stage.answer(sums);
    for (const name of ["refuse", "break"]) await stage.request("tools/call", { name });
  },

  async refusals(stage) {
    await stage.open({});
    for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
      for (const params of [{ taskId: "no-such-task" }, {}]) await stage.request(method, params);
    }
    await stage.request("tasks/list", { cursor: "garbage" });
    await stage.request("tools/call", { name: "render", arguments: { reportId } });
    await stage.request("tools/call", { name: "copy", arguments: {}, task: {} });
    await stage.request("tools/call", { name: "refuse", arguments: {}, task: { ttl: null } });
    const taskId = await stage.start("ask");
    await stage.heard("notifications/tasks/status", (params) => params["taskId"] === taskId);
    const { result } = await stage.request("tasks/result", { taskId });
    if ((result as Message)["isError"] !== true) throw new Error("It asked a client that cannot be asked.");
  },
};

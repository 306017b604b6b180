import { withTask, relatedTask } from "../../../src/generation/sep-1686.ts";
import type { Stage } from "../2025-11-25/stage.ts";

type Scenario = (stage: Stage) => Promise<void>;

const reportId = "q3-sales";
const taskId = "req-7f1c2a90";
const accept = { action: "accept", content: { name: "A4" }, _meta: relatedTask(taskId) };

const about = (id = taskId): object => ({ taskId: id, _meta: relatedTask(id) });

const call = (
  stage: Stage,
  name: string,
  args: object = {},
  id = taskId,
  more: object = {},
): Promise<number> => {
  const params = { name, arguments: args, ...more };
  return stage.begin("tools/call", withTask(params, { taskId: id, keepAliveMs: 60_000 }));
};

/** Each one is a conversation with a server of its own, and two golden files of the same name. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  async completed(stage) {
    await stage.open();
    const request = await call(stage, "render", { reportId }, taskId, { _meta: { progressToken: "rr-2" } });
    await stage.heard("notifications/tasks/created");
    const task = await stage.rendering;
    await stage.request("tasks/get", about());
    await stage.request("tasks/result", about());
    await stage.request("tasks/delete", about());
    task.progress(3, 14, "Page 3 of 14");
    await stage.heard("notifications/progress");
    stage.rendered(14);
    await stage.answer(request);
    await stage.request("tasks/get", about());
    await stage.request("tasks/result", about());
    await stage.request("tasks/list");
    await stage.request("tasks/delete", about());
    await stage.request("tasks/get", about());
    await stage.request("tasks/list");
  },

  async failed(stage) {
    await stage.open();
    for (const name of ["refuse", "break"]) {
      const request = await call(stage, name, {}, name);
      await stage.heard("notifications/tasks/created", (params) => JSON.stringify(params).includes(name));
      await stage.answer(request);
      await stage.request("tasks/get", about(name));
      await stage.request("tasks/result", about(name));
    }
  },

  async input(stage) {
    await stage.open();
    const request = await call(stage, "ask");
    await stage.heard("notifications/tasks/created");
    const asked = await stage.heard("elicitation/create");
    await stage.request("tasks/get", about());
    await stage.reply(asked, accept);
    await stage.answer(request);
  },

  async cancelled(stage) {
    await stage.open();
    const requestId = await call(stage, "render", { reportId });
    await stage.heard("notifications/tasks/created");
    const { signal } = await stage.rendering;
    const told = new Promise((resolve) => signal.addEventListener("abort", resolve));
    await stage.notify("notifications/cancelled", { requestId, _meta: relatedTask(taskId) });
    await told; // the end is stored before the handler hears of it
    await stage.request("tasks/get", about());
    await stage.request("tasks/result", about());
  },

  async refusals(stage) {
    await stage.open();
    await stage.answer(await call(stage, "refuse"));
    await stage.heard("notifications/tasks/created");
    await stage.answer(await call(stage, "refuse"));
    const task = { "modelcontextprotocol.io/task": {} };
    await stage.request("tools/call", { name: "refuse", _meta: task });
    await stage.request("tasks/get", about("req-0aa0"));
    await stage.request("tasks/result", about("req-0aa0"));
    await stage.request("tasks/delete", about("req-0aa0"));
    await stage.request("tasks/list", { cursor: "garbage" });
  },

  async "without-a-task"(stage) {
    await stage.open();
    await stage.answer(await call(stage, "copy"));
    await stage.request("tools/call", { name: "copy" });
  },
};

import { accept } from "../server/prepare-caller.ts";
import { withTasks, withoutTasks } from "../kit/messages.ts";
import type { StatelessClient } from "../kit/stateless-client.ts";
import type { Stage } from "./stage.ts";

type Scenario = (stage: Stage) => Promise<void>;

const reportId = "q3-sales";
const taskId = "no-such-task";
/** Each method with the params that it has to have. */
const ofUnknown: readonly [method: string, params: object][] = [
  ["tasks/get", { taskId }],
  ["tasks/update", { taskId, inputResponses: {} }],
  ["tasks/cancel", { taskId }],
];

/** Each one is a conversation with a server of its own, and a golden file of the same name. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  async discover({ wire }) {
    await wire.send("server/discover");
  },

  async completed({ aside, rendered, rendering, wire }) {
    const id = await wire.start("render", { reportId });
    await wire.get(id);
    await (await rendering).status("page 1");
    await wire.get(id);
    rendered(14);
    await aside.ended(id);
    await wire.get(id);
  },

  async "completed-with-is-error"({ aside, wire }) {
    const id = await wire.start("refuse");
    await aside.ended(id);
    await wire.get(id);
  },

  async failed({ aside, wire }) {
    const id = await wire.start("break");
    await aside.ended(id);
    await wire.get(id);
  },

  async "without-a-task"({ wire }) {
    for (const name of ["refuse", "break"]) await wire.call(name, {}, { capabilities: withoutTasks });
  },

  async input({ aside, wire }) {
    const id = await wire.start("ask");
    await aside.until(id, "input_required");
    await wire.get(id);
    await wire.send("tasks/update", { taskId: id, inputResponses: { size: accept("A4") } });
    await aside.ended(id);
    await wire.get(id);
  },

  async "partial-input"({ aside, wire }) {
    const capabilities = { ...withTasks, sampling: {}, roots: {} };
    const id = await wire.start("ask_all", {}, { capabilities });
    await untilAsked(aside, id, 3);
    await wire.get(id);
    const content = { type: "text", text: "Sales rose." };
    const summary = { role: "assistant", model: "m-1", content };
    await wire.send("tasks/update", {
      taskId: id,
      inputResponses: { summary, unasked: { action: "cancel" } },
    });
    await wire.get(id);
    const folders = { roots: [{ uri: "file:///reports" }] };
    await wire.send("tasks/update", { taskId: id, inputResponses: { folders, size: { action: "decline" } } });
    await aside.ended(id);
    await wire.get(id);
  },

  async cancelled({ aside, rendering, wire }) {
    const id = await wire.start("render", { reportId });
    await rendering;
    await wire.send("tasks/cancel", { taskId: id });
    await aside.ended(id);
    await wire.get(id);
    await wire.send("tasks/cancel", { taskId: id });
  },

  async "unknown-task"({ wire }) {
    for (const [method, params] of ofUnknown) await wire.send(method, params);
  },

  async "missing-capability"({ recorder, url, wire }) {
    const sending = { capabilities: withoutTasks };
    await wire.call("render", { reportId }, sending);
    for (const [method, params] of ofUnknown) await wire.send(method, params, sending);
    await recorder.refused(url, [taskId], { id: "listen", ...sending });
  },

  async "other-refusals"({ wire }) {
    for (const method of ["tasks/result", "tasks/list"]) await wire.send(method, { taskId });
    await wire.send("tasks/get", { taskId }, { headers: { "Mcp-Name": "another-task" } });
    await wire.send("tasks/update", { taskId });
  },

  async "prepared-call"({ aside, wire }) {
    const params = { name: "greet", arguments: { report: reportId } };
    const { result } = await wire.send("tools/call", params);
    const inputResponses = { user_name: accept("ada") };
    const retry = { ...params, requestState: result?.["requestState"], inputResponses };
    const id = (await wire.send("tools/call", retry)).result?.["taskId"] as string;
    await aside.ended(id);
    await wire.get(id);
    await wire.send("tools/call", retry, { capabilities: withoutTasks });
  },

  async listen({ close, recorder, rendered, rendering, url, wire }) {
    const id = await wire.start("render", { reportId });
    const task = await rendering;
    const stream = await recorder.listen(url, [id, taskId], { id: "listen" });
    await stream.next(); // the acknowledgement
    await stream.next(); // the state that it has now
    await task.status("page 1");
    await stream.next();
    rendered(14);
    await stream.next();
    await close();
    await stream.next(); // the answer to the request
    await stream.next(); // the end
  },

  async expired({ aside, wire }) {
    const id = await wire.start("hurry");
    await aside.ended(id);
    await wire.get(id);
  },
};

/** Questions are asked one after the other, even those that are asked side by side. */
async function untilAsked(peer: StatelessClient, id: string, count: number): Promise<void> {
  for (;;) {
    const { inputRequests } = await peer.until(id, "input_required");
    if (Object.keys(inputRequests as object).length === count) return;
  }
}

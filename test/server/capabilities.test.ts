import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import * as z from "zod";
import { Peer, tasksExtension, text, withoutTasks, withTasks } from "./peer.ts";

const requiredTasks = { requiredCapabilities: { extensions: tasksExtension } };
let handled = 0;

function tools(tasks: Tasks): void {
  const inputSchema = z.object({ word: z.string() });
  tasks.tool("shout", { inputSchema }, ({ word }) => text(word));
  tasks.tool("long", { task: "required", inputSchema }, () => (handled++, text("long")));
  tasks.tool("quick", { task: "forbidden" }, () => text("quick"));
  tasks.tool("asks", { requires: ["elicitation"] }, () => text("asked"));
}

it.each(["tasks/get", "tasks/update", "tasks/cancel"])(
  "%s needs the declaration on the message itself, before anything else counts [X-095 X-B-003 X-P-002 A-29]",
  async (method) => {
    const peer = await Peer.of({ tools });
    const taskId = await peer.start("shout", { word: "a" });
    const inputResponses = {};
    for (const params of [
      { taskId, inputResponses },
      { taskId: "unknown", inputResponses },
      { taskId: "" },
    ]) {
      const { status, error } = await peer.send(method, params, {
        capabilities: withoutTasks,
        headers: { "Mcp-Name": params.taskId },
      });
      expect([status, error?.code, error?.data]).toEqual([400, -32021, requiredTasks]);
      expect(error?.message).not.toBe("");
    }
  },
);

it("refuses a tool that runs only as a task, even with bad arguments, and before its handler [X-009 X-010 A-29 A-34]", async () => {
  const peer = await Peer.of({ tools });
  handled = 0;
  for (const args of [{ word: "a" }, { word: 7 }, undefined]) {
    const { status, error } = await peer.call("long", args, { capabilities: withoutTasks });
    expect([status, error?.code, error?.data]).toEqual([400, -32021, requiredTasks]);
  }
  expect(handled).toBe(0);
});

it("takes the older tasks capability for no declaration [X-P-014]", async () => {
  const peer = await Peer.of({ tools });
  const legacy = { tasks: { requests: { tools: { call: {} } } } };
  expect((await peer.call("long", { word: "a" }, { capabilities: legacy })).error?.code).toBe(-32021);
  expect((await peer.call("shout", { word: "a" }, { capabilities: legacy })).result).toMatchObject(text("a"));
});

it("decides for each request by its own declaration [X-004 X-006 X-B-003]", async () => {
  const peer = await Peer.of({ tools });
  await peer.start("shout", { word: "a" });
  const second = await peer.call("shout", { word: "a" }, { capabilities: withoutTasks });
  expect(second.result).toMatchObject({ resultType: "complete", ...text("a") });
  expect(second.result).not.toHaveProperty("taskId");
});

it("answers a tool that is never a task directly [X-004 X-005 A-34]", async () => {
  const peer = await Peer.of({ tools });
  expect((await peer.call("quick")).result).toMatchObject({ resultType: "complete", ...text("quick") });
});

it("ignores the task param of the older generation [X-P-012]", async () => {
  const peer = await Peer.of({ tools });
  const params = { name: "shout", arguments: { word: "a" }, task: { ttl: 1 } };
  const plain = await peer.result("tools/call", params, { capabilities: withoutTasks });
  expect(plain).toMatchObject({ resultType: "complete", ...text("a") });
  const task = await peer.result("tools/call", params);
  expect(task).toMatchObject({ resultType: "task", ttlMs: 86_400_000 });
});

it("refuses a tool whose questions its client cannot be asked, naming all that is missing [X-B-011 A-24]", async () => {
  const peer = await Peer.of({ tools });
  const data = async (capabilities: object): Promise<unknown> => {
    const { status, error } = await peer.call("asks", {}, { capabilities });
    expect([status, error?.code]).toEqual([400, -32021]);
    return error?.data;
  };
  expect(await data({ extensions: tasksExtension })).toEqual({ requiredCapabilities: { elicitation: {} } });
  // Without the extension it is asked on its call, so that is all it lacks.
  expect(await data({})).toEqual({ requiredCapabilities: { elicitation: {} } });
  expect((await peer.call("asks", {}, { capabilities: withoutTasks })).result).toMatchObject(text("asked"));
  expect((await peer.call("asks", {}, { capabilities: withTasks })).result).toMatchObject({
    resultType: "task",
  });
});

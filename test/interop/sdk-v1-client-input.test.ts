import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  peers,
  relatedTo,
  result,
  start,
  streamed,
  textOf,
  ways,
  type Peers,
  type SdkV1,
} from "./sdk-v1-client.ts";

describe.each(ways)("SDK v1's client over %s", { timeout: 60_000 }, (way) => {
  let both: Peers;
  let sdk: SdkV1;
  beforeAll(async () => {
    both = await peers(way);
    ({ sdk } = both);
  });
  afterAll(() => both[Symbol.asyncDispose]());

  it("answers the question of a task, which says whose it is [C-091 C-092 C-094 C-099]", async () => {
    sdk.asked.length = 0;
    sdk.answer = () => ({ action: "accept", content: { confirm: true } });
    const [kinds, end] = await streamed(sdk, "confirm_delete", { filename: "a.txt" });
    expect(end).toMatchObject(textOf("Would delete a.txt."));
    expect(kinds.at(-1)).toBe("result");
    const taskId = (await sdk.client.experimental.tasks.listTasks()).tasks[0]?.taskId ?? "";
    expect(sdk.asked).toMatchObject([{ params: { message: "Delete a.txt?", _meta: relatedTo(taskId) } }]);
  });

  it("answers late, while the task waits for input, and after that it works again [C-091 C-094]", async () => {
    const answer = Promise.withResolvers<object>();
    sdk.answer = () => answer.promise;
    const { taskId } = await start(sdk, "confirm_delete", { filename: "b.txt" });
    const waiting = result(sdk, taskId);
    const { tasks } = sdk.client.experimental;
    await vi.waitUntil(async () => (await tasks.getTask(taskId)).status === "input_required", 10_000);
    answer.resolve({ action: "decline" });
    expect(await waiting).toMatchObject(textOf("Kept b.txt: the question was answered with decline."));
  });

  it("answers two questions that are open at once, the last one first", async () => {
    const name = Promise.withResolvers<object>();
    sdk.asked.length = 0;
    sdk.answer = async (message) => {
      if (message === "What is your name?") return name.promise;
      queueMicrotask(() => name.resolve({ action: "accept", content: { name: "Ada" } }));
      return { action: "accept", content: { confirm: true } };
    };
    const { taskId } = await start(sdk, "multi_input");
    expect(await result(sdk, taskId)).toMatchObject(textOf("name: Ada, confirm: true"));
    expect(sdk.asked.map(({ params }) => params?.["_meta"])).toEqual([
      { ...relatedTo(taskId), "holdfast/questionKey": "name" },
      { ...relatedTo(taskId), "holdfast/questionKey": "confirm" },
    ]);
  });

  it("lends a task its model", async () => {
    sdk.asked.length = 0;
    const [, end] = await streamed(sdk, "ask_model", { prompt: "Why?" });
    expect(end).toMatchObject(textOf("Because."));
    expect(sdk.asked).toMatchObject([
      { method: "sampling/createMessage", params: { messages: [{ content: { text: "Why?" } }] } },
    ]);
  });

  it("is asked in the task what another revision asks before it [A-49]", async () => {
    sdk.asked.length = 0;
    sdk.answer = () => ({ action: "accept", content: { name: "Ada" } });
    const { taskId } = await start(sdk, "test_tool_with_task");
    expect(await result(sdk, taskId)).toMatchObject(textOf("Hello, Ada!"));
    expect(sdk.asked).toMatchObject([{ params: { _meta: relatedTo(taskId) } }]);
  });

  it("is asked on a plain call, too", async () => {
    sdk.asked.length = 0;
    sdk.answer = (message) => ({
      action: "accept",
      content: message === "What is your name?" ? { name: "Ada" } : { confirm: true },
    });
    const call = (name: string, args = {}): Promise<unknown> =>
      sdk.client.callTool({ name, arguments: args });
    expect(await call("confirm_delete", { filename: "a.txt" })).toEqual(textOf("Would delete a.txt."));
    expect(await call("multi_input")).toEqual(textOf("name: Ada, confirm: true"));
    expect(await call("ask_model", { prompt: "Why?" })).toEqual(textOf("Because."));
    expect(sdk.asked).toHaveLength(4);
    expect(JSON.stringify(sdk.asked)).not.toContain("related-task");
  });

  it("gets isError where it cannot be asked, and -32602 where it asks for a task", async () => {
    const silent = await both.open({});
    for (const [name, args] of [
      ["confirm_delete", { filename: "a.txt" }],
      ["multi_input", {}],
      ["ask_model", { prompt: "Why?" }],
    ] as const) {
      expect(await silent.client.callTool({ name, arguments: args })).toMatchObject({ isError: true });
      await expect(start(silent, name, args)).rejects.toMatchObject({ code: -32602 });
    }
    await expect(start(silent, "test_tool_with_task")).rejects.toMatchObject({ code: -32602 });
  });
});

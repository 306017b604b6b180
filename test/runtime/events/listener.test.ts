import { expect, it } from "vitest";
import { Process, text, bodyOf, type Setup } from "../harness.ts";
import { Failing } from "../watched-store.ts";

const tools: Setup["tools"] = {
  hello: async (_, task) => {
    await task.step("greet", () => "hi");
    return text("hi");
  },
};

it.each<[string, () => unknown]>([
  [
    "throws",
    () => {
      throw new Error("the log is full");
    },
  ],
  ["rejects", () => Promise.reject(new Error("the log is full"))],
])("a listener that %s harms no task, and onError hears of it", async (_, onEvent) => {
  const process = await Process.started({ tools, onEvent });
  const id = await process.callId("hello");
  expect(bodyOf(await process.ended(id))).toEqual(text("hi"));
  expect(process.errors).toEqual(Array.from({ length: 4 }, () => new Error("the log is full")));
});

it("what the store did not take is told when it has", async () => {
  const failing = new Failing("settle", 2);
  const process = await Process.started({ tools, onEvent: true, before: failing.before });
  const id = await process.callId("hello");
  await process.until(id, () => failing.hits === 1);
  expect(process.events.map(({ type }) => type)).not.toContain("task.settled");
  await process.clock.advance(60_000);
  await process.ended(id);
  expect(process.events.filter(({ type }) => type === "task.settled")).toHaveLength(1);
});

it("a handler that outlives its task is told, with its task", async () => {
  const gate = Promise.withResolvers<void>();
  const process = await Process.started({
    tools: { deaf: async () => (await gate.promise, text("too late")) },
    options: { cancelGraceMs: 1_000 },
    onEvent: true,
  });
  const id = await process.callId("deaf");
  await process.cancel(id);
  await process.clock.advance(1_000);
  await process.clock.advance(1_000);
  expect(process.events.at(-1)).toMatchObject({
    type: "handler.leaked",
    taskId: id,
    tool: "deaf",
    handlers: 1,
  });
  gate.resolve();
});

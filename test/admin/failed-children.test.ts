import { expect, it } from "vitest";
import { Process, text, type Handler } from "../runtime/harness.ts";
import { adminOf } from "./operator.ts";

const lookUp = (place: string): never => {
  throw new Error(`The provider does not know ${place}.`);
};

const geo: Handler = async (_args, task) => {
  await task.log("info", "looking up Oslo");
  await task.step("ask", () => "asked");
  return text(await task.step("lookup", () => lookUp("Oslo")));
};

const between: Handler = async (_args, task) => {
  await task.call("geo", "geo", {});
  return text("between");
};

const outer: Handler = async (_args, task) => {
  await task.call("fine", "fine", {});
  await task.call("between", "between", {});
  return text("outer");
};

const fine: Handler = () => text("fine");

it("keeps a called task that failed, with its stack, steps and log, until the task at the top is deleted", async () => {
  const process = await Process.started({ tools: { geo, between, outer, fine } });
  const id = await process.callId("outer");
  await process.ended(id);
  const admin = adminOf(process);
  const { children, timeline } = await admin.show(id);
  expect(children).toMatchObject([
    { tool: "between", state: "failed", parent: id, error: expect.stringContaining("Oslo") as string },
  ]);
  expect(timeline.map(({ key, childId }) => [key, childId])).toEqual([
    ["fine", null],
    ["between", children[0]?.id],
  ]);
  const [deepest] = (await admin.show(children[0]?.id ?? "")).children;
  const { attempts, timeline: steps, log } = await admin.show(deepest?.id ?? "");
  expect(attempts).toMatchObject([
    { number: 1, end: "failed", stack: expect.stringContaining("at lookUp") as string },
  ]);
  expect(steps.map(({ key, error }) => [key, error !== null])).toEqual([
    ["ask", false],
    ["lookup", true],
  ]);
  expect(log).toMatchObject([{ text: "looking up Oslo" }]);
  expect(await admin.failures("geo")).toMatchObject([{ count: 1, taskId: deepest?.id }]);
  // What a task called is run again by that task, or not at all.
  const { done } = await admin.as("ann").bulk("retry", { states: ["failed"] }, { dryRun: true });
  expect(done).toEqual([id]);
  await admin.as("ann").delete(id);
  expect((await admin.list()).tasks).toEqual([]);
  await process.runtime.stop();
});

import { expect, it } from "vitest";
import { bodyOf, Process, text, type Handler } from "../runtime/harness.ts";
import { adminOf } from "./operator.ts";

it("starts no handler of a paused tool that another tool calls, or that would run directly at first", async () => {
  const runs: string[] = [];
  const publish: Handler = () => {
    runs.push("publish");
    return text("sent");
  };
  const parent: Handler = (_args, task) => task.call("child", "publish", {});
  const tools = { publish: { config: { promoteAfterMs: 1_000 }, handler: publish }, parent };
  const process = await Process.started({ tools });
  const ann = adminOf(process).as("ann");
  await ann.pause("publish");
  await process.clock.advance(1_000);
  const ids = [await process.callId("publish"), await process.callId("parent")];
  await process.clock.advance(60_000);
  expect(runs).toEqual([]);
  expect((await adminOf(process).list({ tool: "publish" })).tasks.map(({ state }) => state)).toEqual([
    "queued",
    "queued",
  ]);
  await ann.cancel(ids[0] ?? "");
  await ann.resume("publish");
  await process.clock.advance(1_000);
  expect(bodyOf(await process.ended(ids[1] ?? ""))).toMatchObject(text("sent"));
  expect(runs).toEqual(["publish"]);
});

it("puts a call that would run directly into the queue of a paused tool", async () => {
  const tools = { publish: { config: { promoteAfterMs: 1_000 }, handler: (() => text("sent")) as Handler } };
  const process = await Process.started({ tools });
  await adminOf(process).as("ann").pause("publish");
  await process.clock.advance(1_000);
  const { runtime } = process;
  const origin = { capabilities: {} };
  const call = { generation: "2026-07-28", tool: "publish", arguments: {}, principal: null, origin } as const;
  const end = await runtime.call(call, new AbortController().signal);
  expect(end).toMatchObject({ kind: "task", snapshot: { task: { state: "queued", attempt: 0 } } });
});

import { expect, it } from "vitest";
import type { PrepareContext } from "../../src/runtime/tool/received-request.ts";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { bodyOf, Process, text, type Handler } from "../runtime/harness.ts";
import { adminOf } from "./operator.ts";

const question = { message: "Go on?", requestedSchema: { type: "object" as const, properties: {} } };
const hour = 3_600_000;

it("prepares a task again that runs with other arguments, also where its caller's request had prepared the old one", async () => {
  const pay = {
    config: { prepare: (args: { invoice?: string }) => ({ invoice: args.invoice, euros: 7 }) },
    handler: (_args: object, task: TaskContext) => text(JSON.stringify(task.prepared)),
  };
  const process = new Process({ tools: {} });
  process.runtime.registry.add("pay", pay.config, pay.handler);
  await process.runtime.start();
  const ann = adminOf(process).as("ann");
  const prepared = JSON.stringify({ invoice: "1", euros: 5 });
  const id = await process.callId("pay", { arguments: { invoice: "1" }, prepared });
  expect(bodyOf(await process.ended(id))).toEqual(text(prepared));
  const same = await ann.retry(id);
  expect(bodyOf(await process.ended(same.id))).toEqual(text(prepared));
  const other = await ann.retry(id, { arguments: { invoice: "2" } });
  expect(bodyOf(await process.ended(other.id))).toEqual(text('{"invoice":"2","euros":7}'));
  await expect(ann.retry(id, { arguments: ["2"] })).rejects.toMatchObject({ code: "invalid_params" });
});

it("goes on from an answer, a sleep, an event and a call of another tool that are kept", async () => {
  const runs: string[] = [];
  let isBroken = true;
  const export_: Handler = async (_args, task) => {
    await task.step("first", () => runs.push("first"));
    const { action } = await task.elicit("go", question);
    await task.sleep("nap", hour);
    const paid = await task.waitForEvent<number>("paid", "paid");
    const told = await task.call("child", "child", { n: 1 });
    await task.step("failing", () => Promise.reject(new Error("no"))).catch(() => runs.push("caught"));
    const last = await task.step("last", () => runs.push("last"));
    if (isBroken) throw new Error("no space left");
    return text(JSON.stringify([action, paid, told.content, last > 0]));
  };
  const child: Handler = () => {
    runs.push("child");
    return text("told");
  };
  const process = await Process.started({ tools: { export: export_, child } });
  const ann = adminOf(process).as("ann");
  const id = await process.callId("export");
  await process.asked(id);
  await process.answer(id, "go", { action: "accept", content: {} });
  await process.journalHas(id, "nap");
  await process.clock.advance(hour);
  await process.journalHas(id, "paid");
  await process.runtime.sendEvent(id, { name: "paid", value: 5 });
  await process.ended(id);
  expect(runs).toEqual(["first", "child", "caught", "last"]);
  isBroken = false;
  for (const [keepUpTo, again] of [
    ["last", ["caught"]],
    ["child", ["caught", "last"]],
  ] as const) {
    runs.length = 0;
    const rerun = await ann.retry(id, { keepUpTo });
    expect(bodyOf(await process.ended(rerun.id))).toEqual(
      text(JSON.stringify(["accept", 5, text("told").content, true])),
    );
    expect(runs).toEqual(again);
  }
  runs.length = 0;
  await expect(ann.retry(id, { keepUpTo: "failing" })).rejects.toThrow(
    `The journal of ${id} has no "failing" that succeeded. These did: first, go, nap, paid, child, last.`,
  );
  const rerun = await ann.retry(id, { keepUpTo: "paid" });
  await process.ended(rerun.id);
  expect(runs).toEqual(["child", "caught", "last"]);
});

it("prepares again with other arguments where the journal is kept up to a step", async () => {
  const pay = {
    config: {
      prepare: async (args: { invoice?: string }, ask: PrepareContext) => {
        await ask.elicit("sure", { ...question, message: `Pay ${args.invoice}?` });
        return args.invoice;
      },
    },
    handler: async (_args: object, task: TaskContext) => {
      const page = await task.step("render", () => "page");
      return text(`${page} ${String(task.prepared)}`);
    },
  };
  const process = new Process({ tools: {} });
  process.runtime.registry.add("pay", pay.config, pay.handler);
  await process.runtime.start();
  const ann = adminOf(process).as("ann");
  const accept = async (id: string): Promise<string> => {
    const [asked] = (await process.asked(id)).inputs;
    await process.answer(id, asked?.key ?? "", { action: "accept", content: {} });
    return JSON.stringify(bodyOf(await process.ended(id)));
  };
  const id = await process.callId("pay", { arguments: { invoice: "1" }, prepareInTask: true });
  expect(await accept(id)).toContain("page 1");
  const other = await ann.retry(id, { arguments: { invoice: "2" }, keepUpTo: "render" });
  expect(await accept(other.id)).toContain("page 2");
  const same = await ann.retry(id, { keepUpTo: "render" });
  expect(JSON.stringify(bodyOf(await process.ended(same.id)))).toContain("page 1");
});

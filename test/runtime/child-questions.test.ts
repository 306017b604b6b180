import { describe, expect, it } from "vitest";
import type { PrepareContext } from "../../src/index.ts";
import { childInputKey } from "../../src/task/journal.ts";
import { HoldfastError } from "../../src/task/fault.ts";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, nobody, Process, text, type Handler, type Setup } from "./harness.ts";
import type { BeforeCall } from "./watched-store.ts";

const requestedSchema = { type: "object" as const, properties: { word: { type: "string" as const } } };
const asking = (message: string): { message: string; requestedSchema: typeof requestedSchema } => ({
  message,
  requestedSchema,
});
const saying = (word: string): object => ({ action: "accept", content: { word } });

const asks: Handler = async ({ what }, task) => {
  const { content } = await task.elicit("word", asking(String(what)));
  return text(String(content?.["word"]));
};
const between: Handler = (args, task) => task.call(["below", 1], "asks", args);

/** Asks by itself, by a task below it, and by one below that. */
const root: Handler = async (_, task) => {
  const [own, one, two] = await Promise.all([
    task.elicit("word", asking("own")),
    task.call("one", "asks", { what: "child" }),
    task.call("two", "between", { what: "grandchild" }),
  ]);
  return text(JSON.stringify([own.content?.["word"], one.content, two.content]));
};

const tools = { asks, between, root };
const ended = JSON.stringify(["a", text("b").content, text("c").content]);
const setups: readonly [string, Setup][] = [
  ["whose frames are kept", { tools }],
  ["whose frames are dropped", { tools, options: { maxParkedFrames: 0 } }],
  ["that have one slot", { tools, options: { concurrency: 1 } }],
];

/** The keys of the root's questions, by what is asked. */
async function questionsOf(process: Process, id: string, count = 3): Promise<Record<string, string>> {
  const { inputs } = await process.asked(id, count);
  const named = inputs.map(({ key, params }) => [(JSON.parse(params) as { message: string }).message, key]);
  return Object.fromEntries(named) as Record<string, string>;
}

describe.each(setups)("the questions of a tree of tasks %s", (_, setup) => {
  it("are those of its root, and answered there", async () => {
    const process = await Process.started(setup);
    const id = await process.callId("root");
    const { own = "", child = "", grandchild = "" } = await questionsOf(process, id);
    expect(own).toBe("word");
    expect((await process.get(id)).task).toMatchObject({ openInputs: 3, childInputs: 2 });
    await process.answer(id, grandchild, saying("c"));
    await process.asked(id, 2);
    await process.runtime.answer(id, nobody, [
      { key: own, value: JSON.stringify(saying("a")) },
      { key: child, value: JSON.stringify(saying("b")) },
      { key: grandchild, value: JSON.stringify(saying("too late")) },
    ]);
    expect(bodyOf(await process.ended(id))).toEqual(text(ended));
    expect(await process.store.unfinished("", 9)).toEqual([]);
    expect(process.errors).toEqual([]);
  });

  it("are the same after a crash, and after a restart", async () => {
    const first = await Process.started(setup);
    const id = await first.callId("root");
    const before = await questionsOf(first, id);
    const second = await first.crash(setup);
    expect(await questionsOf(second, id)).toEqual(before);
    await second.answer(id, before["child"] ?? "", saying("b"));
    const third = await second.restart(setup);
    await questionsOf(third, id, 2);
    await third.answer(id, before["own"] ?? "", saying("a"));
    await third.answer(id, before["grandchild"] ?? "", saying("c"));
    expect(bodyOf(await third.ended(id))).toEqual(text(ended));
    expect(third.errors).toEqual([]);
  });
});

describe("an answer to a question of a task below", () => {
  it("is judged with all others: one that does not fit, and none is taken", async () => {
    const process = await Process.started({ tools });
    const id = await process.callId("root");
    const { own = "", child = "" } = await questionsOf(process, id);
    const answers = [
      { key: own, value: JSON.stringify(saying("a")) },
      { key: child, value: JSON.stringify({ action: "accept", content: { word: 1 } }) },
    ];
    await expect(process.runtime.answer(id, nobody, answers)).rejects.toMatchObject({
      code: "invalid_params",
    });
    await questionsOf(process, id);
  });

  it("is passed over where the question is of another tree, however many are named", async () => {
    const process = await Process.started({ tools });
    const [id, other] = [await process.callId("root"), await process.callId("root")];
    const { child = "" } = await questionsOf(process, other);
    await questionsOf(process, id);
    const value = JSON.stringify(saying("foreign"));
    await process.runtime.answer(id, nobody, [{ key: child, value }]);
    const many = Array.from({ length: 9 }, (_, n) => childInputKey({ taskId: `none-${n}`, key: "word" }));
    await process.runtime.answer(
      id,
      nobody,
      [child, ...many].map((key) => ({ key, value })),
    );
    await process.runtime.answer(id, nobody, [{ key: childInputKey({ taskId: other, key: "word" }), value }]);
    await questionsOf(process, id);
    await questionsOf(process, other);
  });

  it("is refused, with all others, where its tool needs a scope that the token lacks", async () => {
    const process = await Process.started({ tools });
    const ann = { generation: "2026-07-28", principal: "ann" } as const;
    const origin = {
      capabilities: { elicitation: {} },
      caller: { scopes: ["use", "ask"] },
      toolScopes: { asks: ["ask"] },
    };
    const id = await process.callId("root", { ...ann, origin });
    const { inputs } = await process.until(id, (seen) => seen.inputs.length === 3, ann);
    const answers = inputs.map(({ key }) => ({ key, value: JSON.stringify(saying("a")) }));
    const refused = { code: "insufficient_scope", data: { requiredScopes: ["ask"] } };
    const weak = { ...ann, scopes: ["use"] };
    const [, below] = answers;
    const many = Array.from({ length: 9 }, (_, n) => ({ key: `none ${n}`, value: "1" }));
    for (const some of [answers, [...answers, ...many], below === undefined ? [] : [below]])
      await expect(process.runtime.answer(id, weak, some)).rejects.toMatchObject(refused);
    expect((await process.runtime.get(id, weak)).inputs).toHaveLength(3);
    await process.runtime.answer(id, weak, answers.slice(0, 1));
    await process.runtime.answer(id, { ...ann, scopes: ["use", "ask"] }, answers.slice(1));
    await process.until(id, ({ task }) => task.state === "settled", ann);
  });

  it("says nothing of a damaged task of another tree", async () => {
    let damaged = "none";
    const before: BeforeCall = (call, of) => {
      if (call === "get" && of === damaged)
        throw new HoldfastError("task_unreadable", `Task ${damaged} is damaged.`);
    };
    const process = await Process.started({ tools, before });
    const id = await process.callId("root");
    await questionsOf(process, id);
    damaged = "of-somebody-else";
    await process.answer(id, childInputKey({ taskId: damaged, key: "word" }), saying("b"));
    expect((await process.get(id)).inputs).toHaveLength(3);
  });

  it("comes too late where its question is given up, or its tree is cancelled", async () => {
    const given: Handler = async (_, task) => {
      const end = await task.elicit("word", asking("child"), { timeoutMs: 1_000 }).then(
        () => "answered",
        ({ code }: { code: string }) => code,
      );
      return text(end);
    };
    const calls: Handler = (_, task) => task.call("one", "given");
    const process = await Process.started({ tools: { given, calls, ...tools } });
    const [id, cancelled] = [await process.callId("calls"), await process.callId("root")];
    const { child = "" } = await questionsOf(process, id, 1);
    await questionsOf(process, cancelled);
    await process.clock.advance(1_000);
    await process.answer(id, child, saying("late"));
    expect(bodyOf(await process.ended(id))).toEqual(text("input_timeout"));
    await process.cancel(cancelled);
    await process.clock.advance(60_000);
    const end = await process.ended(cancelled);
    expect(end.inputs).toEqual([]);
    expect(end.task).toMatchObject({ state: "cancelled", openInputs: 0, childInputs: 0 });
    await rest();
    expect(await process.store.unfinished("", 9)).toEqual([]);
  });
});

it("puts what prepare of a tool asks that is called, and what its handler asks of the model", async () => {
  const greets: Setup["tools"][string] = {
    config: {
      prepare: async (_: unknown, ask: PrepareContext) => {
        const { content } = await ask.elicit("name", asking("prepare"));
        return { name: String(content?.["word"]) };
      },
    } as never,
    handler: async (_, task) => {
      const messages = [{ role: "user" as const, content: { type: "text" as const, text: "?" } }];
      const { model } = await task.sample("model", { messages, maxTokens: 5 });
      return text(`${(task.prepared as unknown as { name: string }).name} ${model}`);
    },
  };
  const calls: Handler = (_, task) => task.call("one", "greets");
  const process = await Process.started({ tools: { greets, calls }, options: { maxParkedFrames: 0 } });
  const id = await process.callId("calls");
  const [prepared] = (await process.asked(id)).inputs;
  await process.answer(id, prepared?.key ?? "", saying("Ann"));
  const { inputs } = await process.until(id, (now) => now.inputs[0]?.method === "sampling/createMessage");
  const sampled = { role: "assistant", model: "m", content: { type: "text", text: "!" } };
  await process.answer(id, inputs[0]?.key ?? "", sampled);
  expect(bodyOf(await process.ended(id))).toEqual(text("Ann m"));
});

it("sees nothing of a task below by its id", async () => {
  const process = await Process.started({ tools });
  const id = await process.callId("root");
  await questionsOf(process, id);
  const below = (await process.store.unfinished("", 9)).filter(({ parent }) => parent !== null);
  expect(below).toHaveLength(3);
  for (const { id: child } of below) {
    await expect(process.get(child)).rejects.toMatchObject({ code: "unknown_task" });
    await expect(process.cancel(child)).rejects.toMatchObject({ code: "unknown_task" });
    await expect(process.answer(child, "word", saying("x"))).rejects.toMatchObject({ code: "unknown_task" });
  }
  expect((await process.runtime.list(nobody, { limit: 9 })).map((task) => task.id)).toEqual([id]);
});

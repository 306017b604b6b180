import { describe, expect, it } from "vitest";
import type { PrepareContext } from "../../src/runtime/tool/received-request.ts";
import type { ToolConfig } from "../../src/runtime/tool/tool.ts";
import { anonymous, bodyOf, nobody, Process, text, type Handler, type Setup } from "./harness.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const never = new Promise<never>(() => undefined);
const inTask = { prepareInTask: true } as const;
const confirmKey = JSON.stringify(["holdfast/prepare", "confirm"]);
const yes = { action: "accept", content: {} };

const tell: Handler = (_, task) => text(JSON.stringify(task.prepared) ?? "nothing");
const confirm = async (_: unknown, ask: PrepareContext) => ({
  action: (await ask.elicit("confirm", question)).action,
});

function setup(
  prepare: (args: unknown, ask: PrepareContext) => unknown,
  handler: Handler = tell,
  more: Partial<ToolConfig<undefined>> = {},
): Setup {
  // The harness knows no type of what was prepared.
  const config = { ...more, prepare } as unknown as ToolConfig<undefined>;
  return { tools: { tool: { config, handler } } };
}

async function started(...of: Parameters<typeof setup>): Promise<{ process: Process; id: string }> {
  const process = await Process.started(setup(...of));
  return { process, id: await process.callId("tool", inTask) };
}

describe("prepare inside a task", () => {
  it("asks as the task, and the handler finds what it returned [A-49]", async () => {
    const { process, id } = await started(confirm);
    const { inputs, task } = await process.asked(id);
    expect(task.state).toBe("running");
    const params = JSON.stringify({ mode: "form", ...question });
    expect(inputs).toEqual([{ key: confirmKey, method: "elicitation/create", params }]);
    await process.answer(id, confirmKey, yes);
    expect(bodyOf(await process.ended(id))).toEqual(text('{"action":"accept"}'));
  });

  it("returns what a step may return, and the handler finds a copy of it in each run", async () => {
    const prepared = new Map([["at", new Date(0)]]);
    const seen: unknown[] = [];
    const asks: Handler = async (_, task) => {
      seen.push(task.prepared);
      return text((await task.elicit("q", question)).action);
    };
    const process = await Process.started({
      ...setup(() => prepared, asks),
      options: { maxParkedFrames: 0 },
    });
    const id = await process.callId("tool", inTask);
    await process.asked(id);
    await process.answer(id, "q", yes);
    await process.ended(id);
    expect(seen).toEqual([prepared, prepared]);
    expect(seen[0]).not.toBe(prepared);
  });

  it("keeps its keys apart from those of the handler", async () => {
    const { process, id } = await started(confirm, async (_, task) => {
      const { action } = await task.elicit("confirm", question);
      return text(`${JSON.stringify(task.prepared)} ${action}`);
    });
    await process.asked(id);
    await process.answer(id, confirmKey, yes);
    await process.until(id, ({ inputs }) => inputs[0]?.key === "confirm");
    await process.answer(id, "confirm", { action: "decline" });
    expect(bodyOf(await process.ended(id))).toEqual(text('{"action":"accept"} decline'));
  });

  it("runs only for a call that says so", async () => {
    const process = await Process.started(setup(confirm));
    expect(bodyOf(await process.ended(await process.callId("tool")))).toEqual(text("nothing"));
  });

  it("of a tool that has none is nothing, and so is what returns nothing", async () => {
    const process = await Process.started({ tools: { ...setup(() => undefined).tools, plain: tell } });
    for (const tool of ["tool", "plain"]) {
      expect(bodyOf(await process.ended(await process.callId(tool, inTask)))).toEqual(text("nothing"));
    }
  });

  it.each<[string, (args: unknown, ask: PrepareContext) => unknown, RegExp]>([
    ["throws", () => Promise.reject(new Error("not today")), /not today.*isError/],
    [
      "returns what cannot be stored",
      () => ({ call: () => 1 }),
      /-32603.*The value that prepare of tool tool returned cannot be stored: result.call is a function/,
    ],
    [
      "uses a key twice",
      async (_, ask) => Promise.all([ask.roots("r"), ask.roots("r")]),
      /The key \\\\"r\\\\"|The key \\"r\\" was already used/,
    ],
  ])("that %s ends the task as the handler would, which does not run", async (_, prepare, ending) => {
    let runs = 0;
    const { process, id } = await started(prepare, () => {
      runs++;
      return text("not reached");
    });
    expect(JSON.stringify(bodyOf(await process.ended(id)))).toMatch(ending);
    expect(runs).toBe(0);
  });

  it("goes on after a crash with the answers that there were", async () => {
    const asked: string[] = [];
    const prepare = async (_: unknown, ask: PrepareContext) => {
      asked.push("prepare");
      const first = await ask.elicit("confirm", question);
      const second = await ask.elicit("again", question);
      return [first.action, second.action];
    };
    const first = await Process.started(setup(prepare));
    const id = await first.callId("tool", inTask);
    await first.asked(id);
    await first.answer(id, confirmKey, yes);
    const againKey = JSON.stringify(["holdfast/prepare", "again"]);
    await first.until(id, ({ inputs }) => inputs[0]?.key === againKey);
    const second = await first.crash(setup(prepare));
    await second.answer(id, againKey, { action: "cancel" });
    expect(bodyOf(await second.ended(id))).toEqual(text('["accept","cancel"]'));
    expect(asked).toHaveLength(2);
  });

  it("does not run again once it ended", async () => {
    let runs = 0;
    let steps = 0;
    const prepare = () => ++runs;
    const first = await Process.started(
      setup(prepare, async (_, task) => task.step("s", () => (steps++, never))),
    );
    const id = await first.callId("tool", inTask);
    await first.until(id, () => steps === 1);
    const second = await first.crash(
      setup(prepare, async (_, task) => (await task.step("s", () => 1), tell({}, task))),
    );
    expect(bodyOf(await second.ended(id))).toEqual(text("1"));
    expect(runs).toBe(1);
  });

  it("does not make a handler one that may run again, as no prepare on the call does", async () => {
    let runs = 0;
    const hangs: Handler = () => {
      runs++;
      return never;
    };
    const first = await Process.started(setup(confirm, hangs));
    const id = await first.callId("tool", inTask);
    await first.asked(id);
    await first.answer(id, confirmKey, yes);
    await first.until(id, () => runs === 1);
    expect((await first.get(id)).task.journalled).toBe(false);
    const second = await first.crash(setup(confirm, hangs));
    expect(bodyOf(await second.ended(id))).toMatchObject({ code: -32603 });
    expect(runs).toBe(1);
  });

  it("replays what it returned for a handler that may run again", async () => {
    let runs = 0;
    const prepare = () => ++runs;
    const more = { onCrash: "resume" } as const;
    let begun = false;
    const hangs: Handler = () => {
      begun = true;
      return never;
    };
    const first = await Process.started(setup(prepare, hangs, more));
    const id = await first.callId("tool", inTask);
    await first.until(id, () => begun);
    const second = await first.crash(setup(prepare, tell, more));
    expect(bodyOf(await second.ended(id))).toEqual(text("1"));
    expect(runs).toBe(1);
  });

  it("can be cancelled, hears of it, and gives its slot back while it asks", async () => {
    const reasons: unknown[] = [];
    const prepare = async (_: unknown, ask: PrepareContext) => {
      ask.signal.addEventListener("abort", () => reasons.push(ask.signal.reason));
      return confirm(_, ask);
    };
    const process = await Process.started({
      tools: { ...setup(prepare).tools, hello: () => text("hi") },
      options: { concurrency: 1 },
    });
    const id = await process.callId("tool", inTask);
    await process.asked(id);
    await process.ended(await process.callId("hello"));
    await process.runtime.cancelNow(id, nobody);
    expect(reasons).toHaveLength(1);
    await process.ended(await process.callId("hello"));
    expect(process.errors).toEqual([]);
  });

  it("is given back by a stop while it asks, and goes on after it", async () => {
    const first = await Process.started(setup(confirm));
    const id = await first.callId("tool", inTask);
    await first.asked(id);
    const second = await first.restart(setup(confirm));
    await second.answer(id, confirmKey, yes);
    expect(bodyOf(await second.ended(id))).toEqual(text('{"action":"accept"}'));
  });

  it("makes a task of its call at once, whatever promoteAfterMs is", async () => {
    const process = await Process.started(setup(confirm, tell, { promoteAfterMs: 1_000 }));
    const call = { ...nobody, ...inTask, tool: "tool", arguments: {} };
    const origin = { capabilities: { elicitation: {} } };
    const end = await process.runtime.call({ ...call, origin }, new AbortController().signal);
    if (end.kind !== "task") throw new Error("answered directly");
    await process.asked(end.snapshot.task.id);
  });
});

describe("a direct run", () => {
  const signal = new AbortController().signal;
  const run = async (given: Setup, more: object): Promise<unknown> => {
    const process = await Process.started(given);
    const tool = process.runtime.registry.get("tool");
    if (tool === undefined) throw new Error("no tool");
    const ask = async () => yes;
    const outcome = await process.runtime.runInline({
      tool,
      arguments: {},
      signal,
      ask,
      caller: anonymous,
      ...more,
    });
    return JSON.parse(outcome.body) as unknown;
  };

  it("runs prepare where it has not run before, with the same way to ask [A-49]", async () => {
    const keys: unknown[] = [];
    const ask = async (...[key, method]: readonly unknown[]) => (keys.push([key, method]), yes);
    expect(await run(setup(confirm), { ...inTask, ask })).toEqual(text('{"action":"accept"}'));
    expect(keys).toEqual([[["holdfast/prepare", "confirm"], "elicitation/create"]]);
    expect(await run(setup(confirm), {})).toEqual(text("nothing"));
    expect(await run(setup(confirm), { prepared: '{"a":1}' })).toEqual(text('{"a":1}'));
  });

  it("answers with what prepare throws", async () => {
    const prepare = (): never => {
      throw new Error("not today");
    };
    expect(await run(setup(prepare), inTask)).toEqual({ ...text("not today"), isError: true });
  });

  it("tells each report of progress at once, and is not harmed by who hears it", async () => {
    const reports: unknown[] = [];
    const handler: Handler = (_, task) => {
      task.progress(1, 3, "one");
      task.progress(2);
      task.progress(2);
      return text(String(reports.length));
    };
    const progress = (report: unknown): void => {
      reports.push(report);
      throw new Error("nobody there");
    };
    expect(
      await run(
        setup(() => undefined, handler),
        { progress },
      ),
    ).toEqual(text("3"));
    expect(reports).toEqual([{ progress: 1, total: 3, message: "one" }, { progress: 2 }, { progress: 2 }]);
    expect(
      await run(
        setup(() => undefined, handler),
        {},
      ),
    ).toEqual(text("3"));
  });

  it("refuses a key that is asked under twice", async () => {
    const handler: Handler = async (_, task) => {
      await task.roots("r");
      await task.roots("r");
      return text("not reached");
    };
    expect(
      await run(
        setup(() => undefined, handler),
        {},
      ),
    ).toMatchObject({ code: -32603 });
  });
});

describe("a tool's immediateResponse", () => {
  it.each(["", 1, null, {}])("is a text with something in it, and not %j", (immediateResponse) => {
    const config = { immediateResponse } as unknown as ToolConfig<undefined>;
    const make = () => new Process({ tools: { tool: { config, handler: tell } } });
    expect(make).toThrow("immediateResponse");
  });

  it("is there for the server", () => {
    const config = { immediateResponse: "It takes a while." };
    const { runtime } = new Process({ tools: { tool: { config, handler: tell } } });
    expect(runtime.registry.get("tool")).toMatchObject(config);
  });
});

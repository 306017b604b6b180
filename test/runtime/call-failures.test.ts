import { ProtocolError } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { TaskCallError, type HoldfastError, type TaskContext } from "../../src/index.ts";
import { expiredError } from "../../src/task/outcome.ts";
import type { Origin } from "../../src/task/record.ts";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler, type Setup } from "./harness.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: {} };
/** Every frame is dropped as soon as its handler waits. */
const dropping = { maxParkedFrames: 0 };

const failing: Setup["tools"] = {
  throws: () => Promise.reject(new Error("no such host")),
  refuses: () => ({ content: [{ type: "text", text: "not today" }], isError: true }),
  odd: () => Promise.reject(new ProtocolError(-32_000, "odd", { secret: "/srv" })),
  late: {
    config: { maxRunMs: 3_000 },
    handler: async (_, task) => text((await task.elicit("never", question)).action),
  },
};

/** What is to be seen of an error. */
function seen(error: unknown): string {
  if (!(error instanceof TaskCallError)) return String(error);
  const { tool, reason, message, result, error: details } = error;
  return JSON.stringify({ tool, reason, message, result, details });
}

async function failureOf(task: TaskContext, name: string): Promise<string> {
  return task.call("it", name, {}).then(() => "returned", seen);
}

const failures: readonly [string, object][] = [
  [
    "throws",
    {
      reason: "failed",
      message: 'Tool "throws" failed: no such host',
      result: { content: [{ type: "text", text: "no such host" }], isError: true },
    },
  ],
  [
    "refuses",
    {
      reason: "failed",
      message: 'Tool "refuses" failed: not today',
      result: { content: [{ type: "text", text: "not today" }], isError: true },
    },
  ],
  [
    "odd",
    {
      reason: "failed",
      message: 'Tool "odd" failed: odd',
      details: { code: -32_000, message: "odd", data: { secret: "/srv" } },
    },
  ],
  [
    "late",
    {
      reason: "expired",
      message: 'Tool "late" did not end in time: The task expired before it ended.',
      details: expiredError,
    },
  ],
];

describe.each(failures)("a call of a tool that fails (%s)", (name, expected) => {
  it("rejects with what is known of it, on a replay too", async () => {
    const root: Handler = async (_, task) => {
      const failure = await failureOf(task, name);
      await task.elicit("q", question);
      return text(failure);
    };
    const process = await Process.started({ tools: { ...failing, root }, options: dropping });
    const id = await process.callId("root");
    await rest();
    await process.clock.advance(3_000);
    await process.asked(id);
    await process.answer(id, "q", yes);
    const [{ text: told }] = bodyOf(await process.ended(id))["content"] as [{ text: string }];
    expect(JSON.parse(told)).toEqual({ tool: name, ...expected });
    expect(process.errors).toEqual([]);
  });

  it("makes the caller's result an error, which says no more than the tool would have said", async () => {
    const root: Handler = async (_, task) => text(JSON.stringify(await task.call("it", name, {})));
    const process = await Process.started({ tools: { ...failing, root } });
    const id = await process.callId("root");
    await rest();
    await process.clock.advance(3_000);
    const { message } = expected as { message: string };
    expect(bodyOf(await process.ended(id))).toEqual({
      content: [{ type: "text", text: message }],
      isError: true,
    });
  });
});

it("keeps the error of a call that a step throws again", async () => {
  const root: Handler = async (_, task) => {
    const failure = await task.call("it", "throws").catch((error: unknown) => error);
    const step = task.step("throw", () => {
      throw failure;
    });
    const thrown = await step.then(() => "returned", seen);
    await task.elicit("q", question);
    return text(thrown);
  };
  const process = await Process.started({ tools: { ...failing, root }, options: dropping });
  const id = await process.callId("root");
  await process.asked(id);
  await process.answer(id, "q", yes);
  const [{ text: told }] = bodyOf(await process.ended(id))["content"] as [{ text: string }];
  expect(JSON.parse(told)).toMatchObject({ tool: "throws", reason: "failed", result: { isError: true } });
});

it("makes those calls again that failed where its handler is tried again, and no others", async () => {
  const runs: number[] = [];
  const steps: number[] = [];
  const leaf: Handler = async ({ n }, task) => {
    runs.push(Number(n));
    await task.step("run", () => void steps.push(Number(n)));
    if (n === 2 && runs.filter((run) => run === 2).length < 2) throw new Error("not yet");
    return text(String(n));
  };
  const root: Setup["tools"][string] = {
    config: { retry: { attempts: 2, backoff: { firstMs: 1_000 } } },
    handler: async (_, task) => {
      const calls = [0, 1, 2, 3, 4].map((n) => ({ tool: "leaf", arguments: { n } }));
      const results = await task.all("leaf", calls, { concurrency: 1 });
      return text(`${results.length} in attempt ${task.attempt}`);
    },
  };
  const process = await Process.started({ tools: { leaf, root } });
  const id = await process.callId("root");
  await process.until(id, ({ task }) => task.failures === 1);
  expect((await process.get(id)).task.statusMessage).toBe(
    'Attempt 1 of 2 failed: Tool "leaf" failed: not yet',
  );
  await process.clock.advance(1_000);
  expect(bodyOf(await process.ended(id))).toEqual(text("5 in attempt 2"));
  expect(runs).toEqual([0, 1, 2, 2, 3, 4]);
  expect(steps).toEqual([0, 1, 2, 3, 4]); // what the failed call had finished is kept
  expect(await process.store.unfinished("", 9)).toEqual([]);
});

it("makes a call that is answered directly a task", async () => {
  const root: Setup["tools"][string] = {
    config: { promoteAfterMs: 60_000 },
    handler: async (_, task) => text(seen(await task.call("it", "throws").catch((error: unknown) => error))),
  };
  const process = await Process.started({ tools: { ...failing, root } });
  const call = { generation: "2026-07-28", tool: "root", arguments: {}, principal: null } as const;
  const end = await process.runtime.call(
    { ...call, origin: { capabilities: {} } },
    new AbortController().signal,
  );
  if (end.kind !== "task") throw new Error("It was answered directly.");
  expect(JSON.stringify(bodyOf(await process.ended(end.snapshot.task.id)))).toContain("no such host");
});

it("is made by no tool that never runs as a task", async () => {
  const root: Setup["tools"][string] = {
    config: { task: "forbidden" },
    handler: (_, task) => task.call("it", "throws"),
  };
  const process = await Process.started({ tools: { ...failing, root } });
  expect(JSON.parse((await process.runInline("root")).body)).toMatchObject({
    message: expect.stringContaining('Remove task: "forbidden"') as string,
  });
});

describe("a call that cannot be made", () => {
  const toolScopes = { send: ["send"] };
  const originWith = (...scopes: string[]): Origin => ({
    capabilities: { elicitation: {} },
    caller: { scopes },
    toolScopes,
  });
  const told = (error: unknown): object => {
    const { code, message, data } = error as HoldfastError;
    return { code, message, data };
  };
  const calls =
    (name: string, args: Record<string, unknown> = {}): Handler =>
    async (_, task) =>
      text(JSON.stringify(await task.call("it", name, args).catch(told)));
  const send: Handler = () => text("sent");
  const samples = { config: { requires: ["sampling" as const] }, handler: send };

  async function endOf(root: Handler, origin: Origin, tools: Setup["tools"] = {}): Promise<unknown> {
    const process = await Process.started({ tools: { send, samples, root, ...tools } });
    const ended = await process.ended(await process.callId("root", { origin }));
    expect(await process.store.unfinished("", 9)).toEqual([]);
    const [end] = bodyOf(ended)["content"] as [{ text: string }];
    return JSON.parse(end.text);
  }

  it("needs the scopes that its caller needs to call the tool", async () => {
    expect(await endOf(calls("send"), originWith("send"))).toMatchObject(text("sent"));
    expect(await endOf(calls("send"), originWith("other"))).toEqual({
      code: "insufficient_scope",
      message: 'The caller of this task may not call tool "send", which needs the scopes send.',
      data: { requiredScopes: ["send"] },
    });
  });

  it("needs them of tasks of tasks too", async () => {
    const tools = { between: calls("send") };
    const end = await endOf(calls("between"), originWith("other"), tools);
    expect(JSON.stringify(end)).toContain("insufficient_scope");
    expect(JSON.stringify(await endOf(calls("between"), originWith("send"), tools))).toContain("sent");
  });

  it("needs the capabilities that the tool's questions need", async () => {
    expect(await endOf(calls("samples"), originWith())).toEqual({
      code: "missing_capability",
      message: 'Tool "samples" cannot be called: the client of this task did not declare sampling.',
      data: { requiredCapabilities: { sampling: {} } },
    });
  });

  it.each([undefined, 7, {}, null])("needs a tool, and not %j", async (tool) => {
    const root: Handler = async (_, task) =>
      text(await task.call("it", tool as string).then(() => "done", String));
    const process = await Process.started({ tools: { root } });
    const said = "TypeError: To call a tool, pass what tasks.tool() returned, or the tool's name.";
    expect(bodyOf(await process.ended(await process.callId("root")))).toEqual(text(said));
  });

  it("needs arguments that JSON carries, and that the tool takes", async () => {
    expect(await endOf(calls("send", { at: new Date(0) }), originWith("send"))).toMatchObject({
      code: "not_json",
      message: expect.stringContaining(
        'The arguments of tool "send" cannot be stored as JSON: at is an instance of Date',
      ) as string,
    });
    const config = { inputSchema: z.object({ n: z.number() }) as never };
    const tools = { counted: { config, handler: send } };
    expect(await endOf(calls("counted", { n: "3" }), originWith(), tools)).toMatchObject({
      code: "invalid_params",
      message: expect.stringContaining("Invalid arguments for tool counted") as string,
    });
  });
});

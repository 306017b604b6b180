import { ProtocolError } from "@modelcontextprotocol/server";
import type { Prepare, TaskContext } from "holdfast";
import { connect, type OnInput } from "holdfast/client";
import { memoryStore } from "holdfast/memory";
import { describe, expect, it, onTestFinished } from "vitest";
import { accept, form, greets, nameFrom, PrepareCaller } from "./prepare-caller.ts";
import { tasksExtension, text, withoutTasks } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { StatelessClient, type WireResponse } from "../kit/stateless-client.ts";

const idempotencyKey = { "holdfast/idempotencyKey": "k".repeat(22) };

/** A caller of a tool that prepares so, and tells what it was given. */
function prepares(prepare: Prepare<unknown, unknown>, sending?: object): Promise<PrepareCaller> {
  const handler = (_: unknown, { prepared }: TaskContext) => text(JSON.stringify(prepared ?? "nothing"));
  return PrepareCaller.of((tasks) => tasks.tool("greet", { prepare }, handler), sending);
}

describe("rounds", () => {
  it("asks on the call, and makes the task once it has the answer [X-039 X-040 X-B-008 A-49]", async () => {
    const caller = await PrepareCaller.of((tasks) => greets(tasks, "required"));
    const round = await caller.round();
    expect(round.inputRequests).toEqual({
      user_name: { method: "elicitation/create", params: { mode: "form", ...form("user_name?") } },
    });
    expect(round).not.toHaveProperty("taskId");
    expect(await caller.end(round, { user_name: accept("ada") })).toMatchObject(text("ADA gets q3"));
  });

  it.each([
    ["a task", "required", undefined],
    ["a result", "optional", withoutTasks],
  ] as const)(
    "takes the last round that comes twice as one call, which gets %s",
    async (_, task, sending) => {
      let runs = 0;
      const caller = await PrepareCaller.of(
        (tasks) =>
          tasks.tool("greet", { task, prepare: (_args, ask) => nameFrom(ask, "name") }, () =>
            text(`${++runs}`),
          ),
        sending && { ...sending, capabilities: { elicitation: {} } },
      );
      const round = await caller.round();
      const [first, second] = await Promise.all(
        ["ada", "ada"].map((name) => caller.retry(round, { name: accept(name) })),
      );
      const told = (of?: WireResponse): unknown => of?.result?.["taskId"] ?? of?.result?.["content"];
      expect(told(first)).toBeDefined();
      expect(told(second)).toEqual(told(first));
      const third = await caller.retry(round, { name: accept("bob") });
      expect(third.error).toMatchObject({
        code: -32_602,
        message: expect.stringContaining("other answers") as string,
      });
      const again = await caller.retry(await caller.round(), { name: accept("ada") });
      if (task === "required") await caller.peer.ended(String(again.result?.["taskId"]));
      expect(runs).toBe(2);
    },
  );

  it("shows the state and the questions in no task [X-P-020]", async () => {
    const caller = await PrepareCaller.of(greets);
    const { result: created } = await caller.retry(await caller.round(), { user_name: accept("ada") });
    const ended = await caller.peer.ended(created?.["taskId"] as string);
    expect(JSON.stringify([created, ended])).not.toMatch(/requestState|inputRequests/);
  });

  it("asks side by side what is asked so, whatever kind it is [X-040 X-B-008]", async () => {
    const caller = await prepares(
      async (_, ask) => {
        const [name, model, { roots }] = await Promise.all([
          nameFrom(ask, "name"),
          ask.sample(["model", 1], { messages: [], maxTokens: 5 }),
          ask.roots("__proto__"),
        ]);
        return [name, model.model, roots.length];
      },
      { capabilities: { elicitation: {}, sampling: {}, roots: {} } },
    );
    const { inputRequests, requestState } = await caller.round();
    expect(Object.entries(inputRequests).map(([key, { method }]) => [key, method])).toEqual([
      ["name", "elicitation/create"],
      ['["model",1]', "sampling/createMessage"],
      ["__proto__", "roots/list"],
    ]);
    const model = { role: "assistant", content: { type: "text", text: "" }, model: "m" };
    const inputResponses = { name: accept("ada"), '["model",1]': model };
    const second = await caller.round({ requestState, inputResponses });
    expect(Object.keys(second.inputRequests)).toEqual(["__proto__"]);
    const roots = JSON.parse('{"__proto__":{"roots":[]}}') as object;
    expect((await caller.retry(second, roots)).result).toMatchObject(text('["ada","m",0]'));
  });

  it("carries earlier answers along when a question follows from them [X-039]", async () => {
    const caller = await prepares(async (_, ask) => {
      const name = await nameFrom(ask, "name");
      return [name, await nameFrom(ask, "friend", `Who greets ${name}?`)];
    });
    const second = await caller.round({
      requestState: (await caller.round()).requestState,
      inputResponses: { name: accept("ada") },
    });
    expect(second.inputRequests).toEqual({
      friend: { method: "elicitation/create", params: { mode: "form", ...form("Who greets ada?") } },
    });
    expect(await caller.end(second, { friend: accept("bob") })).toMatchObject(text('["ada","bob"]'));
  });

  it("needs none where nothing is asked, and may prepare nothing", async () => {
    const asks = await prepares((args) => args);
    const { result } = await asks.call({ arguments: { a: 1 } });
    expect(await asks.peer.ended(result?.["taskId"] as string)).toMatchObject({ result: text('{"a":1}') });
    const checks = await prepares(() => undefined, { capabilities: {} });
    expect((await checks.call()).result).toMatchObject(text('"nothing"'));
  });

  it("leaves what is under way when a round ends, without a trace", async () => {
    const released = Promise.withResolvers<void>();
    const left: string[] = [];
    const caller = await prepares(async (_, ask) => {
      const late = released.promise.then(async () => {
        left.push("late");
        await ask.elicit("late", form("late?"));
        left.push("never");
        throw new Error("never");
      });
      try {
        await Promise.all([nameFrom(ask, "name"), late]);
      } finally {
        left.push("never");
      }
    });
    const round = await caller.round();
    expect(Object.keys(round.inputRequests)).toEqual(["name"]);
    released.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    expect(left).toEqual(["late"]);
  });
});

describe("answers", () => {
  it("takes declining for an answer [A-23]", async () => {
    const caller = await prepares(async (_, ask) => (await ask.elicit("name", form("name?"))).action);
    const round = await caller.round();
    expect(await caller.end(round, { name: { action: "decline" } })).toMatchObject(text('"decline"'));
  });

  it.each<[string, object]>([
    ["none", {}],
    ["one of the wrong form", { user_name: { nonsense: true } }],
    ["one that is no object", { user_name: "ada" }],
    ["one in an envelope", { user_name: { method: "elicitation/create", result: accept("ada") } }],
    ["one to something else", { name: accept("ada") }],
  ])("asks again where there is %s [X-B-008]", async (_, inputResponses) => {
    const caller = await PrepareCaller.of(greets);
    const first = await caller.round();
    const second = await caller.round({ requestState: first.requestState, inputResponses });
    expect(second.inputRequests).toEqual(first.inputRequests);
    expect(await caller.end(second, { user_name: accept("ada") })).toMatchObject(text("ADA gets q3"));
  });

  it("takes no answer to what was not asked in this exchange [X-B-010]", async () => {
    const caller = await PrepareCaller.of(greets);
    const unasked = await caller.round({ inputResponses: { user_name: accept("mallory") } });
    expect(Object.keys(unasked.inputRequests)).toEqual(["user_name"]);

    const twice = await prepares(async (_, ask) => [await nameFrom(ask, "one"), await nameFrom(ask, "two")]);
    const { requestState } = await twice.round();
    const inputResponses = { one: accept("ada"), two: accept("mallory") };
    expect(Object.keys((await twice.round({ requestState, inputResponses })).inputRequests)).toEqual(["two"]);
  });

  it("takes no answer for a question that reads differently now", async () => {
    let files = 1;
    const caller = await prepares((_, ask) => nameFrom(ask, "delete", `Delete ${files} files?`));
    const { requestState } = await caller.round();
    files = 1000;
    const again = await caller.round({ requestState, inputResponses: { delete: accept("yes") } });
    expect(again.inputRequests).toMatchObject({ delete: { params: { message: "Delete 1000 files?" } } });
    expect(await caller.end(again, { delete: accept("yes") })).toMatchObject(text('"yes"'));
  });
});

describe("callers", () => {
  it("runs directly for one without tasks, with what was prepared [X-006 A-49]", async () => {
    const caller = await PrepareCaller.of(greets, { capabilities: withoutTasks });
    const { result } = await caller.retry(await caller.round(), { user_name: accept("ada") });
    expect(result).toMatchObject({ resultType: "complete", ...text("ADA gets q3") });
    expect(result).not.toHaveProperty("requestState");
  });

  it("runs directly a tool that is never a task", async () => {
    const caller = await PrepareCaller.of((tasks) => greets(tasks, "forbidden"));
    const { result } = await caller.retry(await caller.round(), { user_name: accept("ada") });
    expect(result).toMatchObject({ resultType: "complete", ...text("ADA gets q3") });
  });

  it("refuses one without tasks before it asks, where the tool needs them [X-009 A-29]", async () => {
    const caller = await PrepareCaller.of((tasks) => greets(tasks, "required"), {
      capabilities: withoutTasks,
    });
    const { status, error } = await caller.call({ requestState: "anything" });
    expect([status, error?.code, error?.data]).toEqual([
      400,
      -32021,
      { requiredCapabilities: { extensions: tasksExtension } },
    ]);
  });

  it("refuses one that cannot be asked, and asks nothing else then [X-B-011 A-24]", async () => {
    const capabilities = { elicitation: {}, extensions: tasksExtension };
    const caller = await prepares(
      (_, ask) => Promise.all([nameFrom(ask, "name"), ask.sample("model", { messages: [], maxTokens: 5 })]),
      { capabilities },
    );
    const { status, error } = await caller.call();
    expect([status, error?.code, error?.data]).toEqual([
      400,
      -32021,
      { requiredCapabilities: { sampling: {} } },
    ]);
    const bare = await PrepareCaller.of(greets, { capabilities: { extensions: tasksExtension } });
    expect((await bare.call()).error?.data).toEqual({ requiredCapabilities: { elicitation: {} } });
  });

  it("lets prepare do without a question that cannot be asked [X-B-011]", async () => {
    const caller = await prepares((_, ask) => ask.roots("roots").catch(() => "no roots"));
    const { result } = await caller.call();
    expect(await caller.peer.ended(result?.["taskId"] as string)).toMatchObject({
      result: text('"no roots"'),
    });
  });

  it("is asked by Holdfast's client, in the call and in the task alike, each in its turn [X-P-018 X-B-009]", async () => {
    const { http } = await serve({
      tools: (tasks) =>
        tasks.tool("greet", { prepare: (_, ask) => nameFrom(ask, "name", "before?") }, async (_, task) =>
          text(
            `${task.prepared} ${(await task.elicit("name", form("during?"))).content?.["name"] as string}`,
          ),
        ),
      options: { pollIntervalMs: 1 },
    });
    const asked: [string, string | undefined, boolean][] = [];
    const onInput: OnInput = async ({ key, method, params, taskId }) => {
      const message = method === "elicitation/create" ? params.message : undefined;
      asked.push([key, message, taskId === null]);
      return accept(`ada${asked.length}`);
    };
    const client = await connect(http.url, { onInput, pollFloorMs: 1 });
    onTestFinished(() => client.close());
    expect(await client.callTool("greet")).toMatchObject(text("ada1 ada2"));
    expect(asked).toEqual([
      ["name", "before?", true],
      ["name", "during?", false],
    ]);
  });

  it("is asked by the SDK's own client, which knows no tasks [X-B-008 X-B-009]", async () => {
    const { http } = await serve({ tools: greets });
    const client = await connect(http.url, { onInput: async () => accept("ada") });
    onTestFinished(() => client.close());
    expect(await client.sdk.callTool({ name: "greet" })).toMatchObject(text("ADA gets q3"));
  });
});

describe("what goes wrong", () => {
  it("answers with what prepare throws, and makes no task [X-039]", async () => {
    const caller = await PrepareCaller.of(greets);
    const { result } = await caller.retry(await caller.round(), { user_name: { action: "cancel" } });
    expect(result).toMatchObject({
      resultType: "complete",
      isError: true,
      ...text("the user said cancel"),
    });
    const refuses = await prepares(() => {
      throw new ProtocolError(-32050, "closed today", { until: "noon" });
    });
    expect((await refuses.call()).error).toEqual({
      code: -32050,
      message: "closed today",
      data: { until: "noon" },
    });
  });

  it.each<[string, Prepare<unknown, unknown>, RegExp]>([
    [
      "a value that cannot be stored",
      () => [() => 1],
      /The value that prepare of tool greet returned cannot be stored: result\[0\] is a function/,
    ],
    [
      "too much",
      () => "x".repeat(5000),
      /The value that prepare of tool greet returned is larger than 4096 bytes/,
    ],
    [
      "a key twice",
      (_, ask) => Promise.all([nameFrom(ask, "a"), nameFrom(ask, "a")]),
      /"a" was already used/,
    ],
    ["a question too large", (_, ask) => nameFrom(ask, "a", "x".repeat(5000)), /larger than 4096 bytes/],
  ])("says that prepare has %s", async (_, prepare, message) => {
    const peer = await StatelessClient.of({
      tools: (tasks) => tasks.tool("greet", { prepare }, () => text("never")),
      options: { maxBodyBytes: 4096 },
    });
    const { error } = await peer.call("greet");
    expect(error).toMatchObject({ code: -32603, message: expect.stringMatching(message) as string });
  });

  it("says that the answers are more than a request can carry", async () => {
    const prepare: Prepare<unknown, unknown> = async (_, ask) => [
      await nameFrom(ask, "a"),
      await nameFrom(ask, "b"),
    ];
    const peer = await StatelessClient.of({
      tools: (tasks) => tasks.tool("greet", { prepare }, () => text("never")),
      options: { maxBodyBytes: 4096 },
    });
    const caller = new PrepareCaller(peer);
    const { error } = await caller.retry(await caller.round(), { a: accept("x".repeat(4000)) });
    expect(error).toMatchObject({
      code: -32603,
      message: expect.stringMatching(/answers so far/) as string,
    });
  });

  it("refuses answers that are no object [A-29]", async () => {
    const caller = await PrepareCaller.of(greets);
    const { error } = await caller.call({ inputResponses: "ada" });
    expect([error?.code, error?.message]).toEqual([-32602, expect.stringMatching(/inputResponses/)]);
  });
});

describe("an idempotency key", () => {
  it("makes one task of a retry that comes twice, and stores nothing in a round [A-48 X-039]", async () => {
    const store = memoryStore();
    const tools = greets;
    const caller = new PrepareCaller(await StatelessClient.of({ tools, options: { store } }), "greet", {
      meta: idempotencyKey,
    });
    const round = await caller.round();
    expect(await store.unfinished("", 1)).toEqual([]);
    const [first, second] = [
      await caller.retry(round, { user_name: accept("ada") }),
      await caller.retry(round, { user_name: accept("ada") }),
    ];
    expect(second.result?.["taskId"]).toBe(first.result?.["taskId"]);
    const other = await caller.round({ arguments: { report: "q4" } });
    const { error } = await caller.call({
      arguments: { report: "q4" },
      requestState: other.requestState,
      inputResponses: { user_name: accept("ada") },
    });
    expect(error?.code).toBe(-32602);
  });

  it("is refused before anybody is asked where it is none [A-48]", async () => {
    const caller = await PrepareCaller.of(greets, { meta: { "holdfast/idempotencyKey": "short" } });
    expect((await caller.call()).error?.code).toBe(-32602);
  });
});

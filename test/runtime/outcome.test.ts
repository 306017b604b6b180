import { ProtocolError } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { PlainData, Tasks } from "../../src/index.ts";
import { anonymous, bodyOf, nobody, Process, text } from "./harness.ts";

const bob = { ...nobody, principal: "bob" };
const noAnswer = (): Promise<never> => Promise.reject(new Error("nobody to ask"));

describe("how a task ends", () => {
  it("settles with what the handler returned", async () => {
    const process = await Process.started({ tools: { hello: () => text("hi") } });
    const ended = await process.ended(await process.callId("hello"));
    expect(ended.task.state).toBe("settled");
    expect(ended.outcome).toEqual({ kind: "result", body: '{"content":[{"type":"text","text":"hi"}]}' });
  });

  it("settles an ordinary throw as a result with isError, as a plain tool reports it [A-04]", async () => {
    const process = await Process.started({
      tools: {
        breaks: () => {
          throw new Error("no paper");
        },
      },
    });
    const ended = await process.ended(await process.callId("breaks"));
    expect(ended.outcome?.kind).toBe("error_result");
    expect(ended.task.outcomeKind).toBe("error_result");
    expect(bodyOf(ended)).toEqual({ content: [{ type: "text", text: "no paper" }], isError: true });
  });

  it("settles a thrown protocol error as that error, with its code, message and data [A-04 X-098]", async () => {
    const process = await Process.started({
      tools: {
        refuses: () => {
          throw new ProtocolError(4001, "deliberate", { fixture: true });
        },
      },
    });
    const ended = await process.ended(await process.callId("refuses"));
    expect(ended.outcome?.kind).toBe("error");
    expect(bodyOf(ended)).toEqual({ code: 4001, message: "deliberate", data: { fixture: true } });
    expect(ended.task.statusMessage).toBe("deliberate");
  });

  it("answers a direct run exactly as the task of the same tool ends [X-101]", async () => {
    const handler = (): never => {
      throw new ProtocolError(4001, "deliberate", { fixture: true });
    };
    const process = await Process.started({ tools: { refuses: handler, hello: () => text("hi") } });
    for (const name of ["refuses", "hello"]) {
      const ended = await process.ended(await process.callId(name));
      const tool = process.runtime.registry.get(name);
      if (tool === undefined) throw new Error(name);
      const signal = new AbortController().signal;
      const run = { tool, arguments: {}, signal, ask: noAnswer, caller: anonymous };
      expect(await process.runtime.runInline(run)).toEqual(ended.outcome);
    }
  });

  it.each([
    ["a result that JSON cannot carry", () => ({ content: [], structuredContent: { at: new Date(0) } })],
    ["a result that is too large", () => text("x".repeat(2_000))],
  ])("fails with an internal error that says why for %s", async (_, handler) => {
    const process = await Process.started({ tools: { odd: handler }, options: { maxBodyBytes: 1_000 } });
    const ended = await process.ended(await process.callId("odd"));
    expect(bodyOf(ended)).toMatchObject({
      code: -32603,
      message: expect.stringContaining("The result of tool odd"),
    });
  });

  it("checks structured content against the output schema, as the SDK does", async () => {
    const config = { outputSchema: z.object({ n: z.number() }) };
    const process = await Process.started({
      tools: {
        wrong: { config, handler: () => ({ content: [], structuredContent: { n: "one" } }) },
        right: { config, handler: () => ({ content: [], structuredContent: { n: 1 } }) },
      },
    });
    const wrong = await process.ended(await process.callId("wrong"));
    expect(bodyOf(wrong)).toMatchObject({ isError: true });
    const right = await process.ended(await process.callId("right"));
    expect(bodyOf(right)).toEqual({ content: [], structuredContent: { n: 1 } });
  });

  it.each<[string, PlainData, string]>([
    ["a text", "done", "done"],
    ["a number", 7, "7"],
    ["a list", ["a", null, { b: 1 }], '["a",null,{"b":1}]'],
    ["an object", { rows: 2, left: undefined }, '{"rows":2}'],
    ["an empty object", {}, "{}"],
  ])("has as its text what a handler without an output schema returned: %s", async (_, returned, said) => {
    const tools = { data: () => returned };
    const process = await Process.started({ tools });
    const ended = await process.ended(await process.callId("data"));
    expect(bodyOf(ended)).toEqual(text(said));
    expect((await process.runInline("data")).body).toBe(ended.outcome?.body);
  });

  it("has as its structured content, which is checked, what a handler with an output schema returned", async () => {
    const object = { outputSchema: z.object({ n: z.number() }) };
    const report = { outputSchema: z.object({ content: z.array(z.string()) }) };
    const list = { outputSchema: z.array(z.string()) };
    const process = await Process.started({
      tools: {
        right: { config: object, handler: () => ({ n: 1 }) },
        wrong: { config: object, handler: () => ({ n: "one" }) },
        content: { config: report, handler: () => ({ content: ["a"] }) as never },
        list: { config: list, handler: () => ["a"] },
      },
    });
    const endOf = async (tool: string): Promise<unknown> =>
      bodyOf(await process.ended(await process.callId(tool)));
    expect(await endOf("right")).toEqual({ ...text('{"n":1}'), structuredContent: { n: 1 } });
    expect(await endOf("wrong")).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("Output validation error") as string }],
    });
    expect(await endOf("content")).toEqual({
      ...text('{"content":["a"]}'),
      structuredContent: { content: ["a"] },
    });
    expect(await endOf("list")).toEqual({ ...text('["a"]'), structuredContent: ["a"] });
  });

  it("is typed by the output schema, and is no tool result by accident", async () => {
    const process = await Process.started({ tools: {} });
    const { registry } = process.runtime;
    const tool: Tasks["tool"] = (name, config, handler) => registry.add(name, config, handler);
    const config = { outputSchema: z.object({ n: z.number() }) };
    tool("right", config, () => ({ n: 1 }));
    tool("result", config, () => ({ content: [], structuredContent: { n: 1 } }));
    // @ts-expect-error -- the schema has a number there
    tool("wrong", config, () => ({ n: "one" }));
    // @ts-expect-error -- nothing is no result
    tool("nothing", {}, async () => {});
    // @ts-expect-error -- nor is an error
    tool("error", {}, () => new Error("failed"));
    // @ts-expect-error -- nor content that is none
    tool("content", {}, () => ({ content: "text" }));
    const kinds: unknown[] = [];
    for (const name of ["right", "result", "wrong", "nothing", "error", "content"])
      kinds.push((await process.ended(await process.callId(name))).outcome?.kind);
    expect(kinds).toEqual(["result", "result", "error_result", "error", "error", "error"]);
  });

  it("is an error that says what a handler returned by mistake", async () => {
    const handler = (() => new Error("failed")) as never;
    const process = await Process.started({ tools: { odd: handler, nothing: (() => undefined) as never } });
    const instead = "Return a tool result, which is an object with a content array, or a text or plain data.";
    expect(bodyOf(await process.ended(await process.callId("odd")))).toMatchObject({
      message: `Tool odd returned an error instead of throwing it (failed). ${instead}`,
    });
    expect(bodyOf(await process.ended(await process.callId("nothing")))).toMatchObject({
      message: `Tool nothing returned nothing. ${instead}`,
    });
  });

  it.each<[string, object, string]>([
    [
      "null in place of a block",
      { content: [{ type: "text", text: "a" }, null] },
      "content[1]: is no object",
    ],
    ["a text in place of a block", { content: ["a"] }, "content[0]: is no object"],
    ["a block without a type", { content: [{ text: "a" }] }, "content[0]: has no type"],
    ["a text block without a text", { content: [{ type: "text", text: 5 }] }, "content[0]: text: "],
    ["an image without data", { content: [{ type: "image", mimeType: "image/png" }] }, "content[0]: data: "],
    ["isError that is a text", { content: [], isError: "yes" }, "isError is neither true nor false"],
    ["_meta that is null", { content: [], _meta: null }, "_meta is no object"],
  ])(
    "is an error that names the part of a result that clients cannot read: %s",
    async (_, returned, part) => {
      const process = await Process.started({ tools: { odd: (() => returned) as never } });
      const message = expect.stringContaining(`Tool odd returned a result that clients cannot read (${part}`);
      expect(bodyOf(await process.ended(await process.callId("odd")))).toMatchObject({
        code: -32603,
        message,
      });
    },
  );

  it("passes on content of a kind that a later protocol may have", async () => {
    const content = [{ type: "hologram", depth: 3 }, ...text("a").content];
    const process = await Process.started({ tools: { new: (() => ({ content })) as never } });
    expect(bodyOf(await process.ended(await process.callId("new")))).toEqual({ content });
  });

  it("refuses arguments over the size limit before there is a task", async () => {
    const process = await Process.started({
      tools: { hello: () => text("hi") },
      options: { maxBodyBytes: 100 },
    });
    await expect(process.call("hello", { arguments: { a: "x".repeat(200) } })).rejects.toMatchObject({
      code: "invalid_params",
    });
  });

  it("reads no more of another's task than of none, so that neither takes longer [A-40]", async () => {
    const reads: string[] = [];
    const tools = { done: () => text("done") };
    const process = await Process.started({ tools, before: (call) => void reads.push(call) });
    const ann = { generation: "2026-07-28", principal: "ann" } as const;
    const id = await process.callId("done", ann);
    await process.until(id, ({ outcome }) => outcome !== null, ann);
    for (const asked of [id, "no-such"]) {
      reads.length = 0;
      await expect(process.runtime.get(asked, { ...ann, principal: "bob" })).rejects.toThrow("Unknown");
      expect(reads).toEqual(["snapshot"]);
    }
  });

  it("keeps ids apart by principal, with one answer for foreign and unknown [A-35 A-40 X-P-003]", async () => {
    const process = await Process.started({ tools: { hello: () => text("hi") } });
    const id = await process.callId("hello", { principal: "alice" });
    const foreign = await process.runtime.get(id, bob).catch((error: unknown) => error);
    const unknown = await process.runtime.get("no-such", bob).catch((error: unknown) => error);
    expect(foreign).toMatchObject({ code: "unknown_task" });
    expect(String(foreign)).toBe(String(unknown));
    await expect(process.runtime.cancel(id, bob)).rejects.toMatchObject({ code: "unknown_task" });
    await expect(process.runtime.answer(id, bob, [])).rejects.toMatchObject({ code: "unknown_task" });
    const elsewhere = { generation: "2025-11-25", principal: "alice" } as const;
    await expect(process.runtime.get(id, elsewhere)).rejects.toMatchObject({ code: "unknown_task" });
  });

  it("finds the same task for the same idempotency key and call, and refuses another call [A-48]", async () => {
    let runs = 0;
    const process = await Process.started({ tools: { count: () => text(String(++runs)) } });
    const key = { idempotencyKey: "k".repeat(30), principal: "alice" };
    const first = await process.call("count", { ...key, arguments: { a: 1, b: 2 } });
    const again = await process.call("count", { ...key, arguments: { b: 2, a: 1 } });
    expect(again.task.id).toBe(first.task.id);
    await process.until(first.task.id, () => runs === 1).catch(() => undefined);
    await expect(process.call("count", { ...key, arguments: { a: 2 } })).rejects.toMatchObject({
      code: "idempotency_conflict",
    });
    const other = await process.call("count", { ...key, principal: "bob", arguments: { a: 1, b: 2 } });
    expect(other.task.id).not.toBe(first.task.id);
  });
});

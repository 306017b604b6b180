import { ProtocolError } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { describe, expect, it } from "vitest";
import { text } from "../kit/messages.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };

it("a tool that is never a task and asks while it runs is told so, and its client lacks nothing [A-34]", async () => {
  const peer = await StatelessClient.of({
    tools: (tasks) =>
      tasks.tool("asks", { task: "forbidden" }, async (_, task) =>
        text((await task.elicit("q", question)).action),
      ),
  });
  const { status, error } = await peer.call("asks");
  expect([status, error?.code]).toEqual([200, -32603]);
  expect(error?.message).toContain("Tool asks never runs as a task");
});

it("a tool that asks what its client cannot be asked is told so, and so is a client without tasks [X-B-011]", async () => {
  const peer = await StatelessClient.of({
    tools: (tasks) =>
      tasks.tool("asks", { plain: "wait" }, async (_, task) =>
        text((await task.elicit("q", question)).action),
      ),
  });
  const { result } = await peer.call("asks", {}, { capabilities: {} });
  expect(result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("elicitation") as unknown }],
  });
});

describe.each([Number.NaN, 1.5, Number.NEGATIVE_INFINITY, "E_CODE"])(
  "a protocol error of code %s, which JSON-RPC has not",
  (code) => {
    it("is answered as an internal error, by a task and directly [A-04 X-101]", async () => {
      const peer = await StatelessClient.of({
        tools: (tasks) =>
          tasks.tool("odd", {}, () => {
            throw new ProtocolError(code as number, "odd code");
          }),
      });
      const expected = { code: -32603, message: "odd code" };
      const ended = await peer.ended(await peer.start("odd"));
      expect(ended).toMatchObject({ status: "failed", error: expected });
      const direct = await peer.call("odd", {}, { capabilities: {} });
      expect([direct.status, direct.error]).toEqual([200, expected]);
    });
  },
);

it("takes half a surrogate pair in arguments and gives it back [A-48]", async () => {
  const peer = await StatelessClient.of({
    tools: (tasks) => tasks.tool("echo", {}, (args) => ({ content: [], structuredContent: args })),
  });
  const ended = await peer.ended(await peer.start("echo", { a: "\ud800" }));
  expect(ended).toMatchObject({ result: { structuredContent: { a: "\ud800" } } });
});

it.each(["constructor", "toString", "__proto__"])(
  "no tool is named %s, which would hide all tools",
  (name) => {
    const tasks = createTasks({ store: memoryStore() });
    expect(() => tasks.tool(name, {}, () => text("x"))).toThrow(
      expect.objectContaining({ code: "configuration" }),
    );
  },
);

import { describe, expect, it } from "vitest";
import { memoryHandles } from "../../src/client/handles/handle-store.ts";
import { acknowledged, approval, asking, created } from "./answers.ts";
import { setUp } from "./setup.ts";

const circle: Record<string, unknown> = {};
circle["itself"] = circle;

const unsendable: readonly (readonly [string, Record<string, unknown>])[] = [
  ["a BigInt", { id: 1n }],
  ["a circle", circle],
  [
    "a getter that throws",
    {
      get id(): string {
        throw new Error("no");
      },
    },
  ],
];

// A server that recognises repeated calls gets a call again and again whose answer was lost.
describe.each(unsendable)("%s", (_, args) => {
  it.each([undefined, memoryHandles()])(
    "in the arguments of a call fails it at once, and nothing is pending (handles: %j)",
    async (handles) => {
      const { server, client } = await setUp(handles && { handles });
      const failure: unknown = await client.startTool("render_report", args).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(Error);
      expect(failure).not.toMatchObject({ name: "TaskClientError" });
      expect(server.of("tools/call")).toEqual([]);
      expect(await client.pending()).toEqual([]);
    },
  );

  it("in an answer is no answer: the question is cancelled", async () => {
    const { server, client } = await setUp({
      onInput: async () => ({ action: "accept" as const, content: args as Record<string, string> }),
    });
    server.script("tools/call", created());
    server.script("tasks/get", asking({ approve: approval }), "silence");
    server.script("tasks/update", acknowledged);
    void client.callTool("render_report").catch(() => undefined); // until the test is over
    await server.sees("tasks/update", 1);
    expect(server.of("tasks/update")[0]?.params).toMatchObject({
      inputResponses: { approve: { action: "cancel" } },
    });
  });
});

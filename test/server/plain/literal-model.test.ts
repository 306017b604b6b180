import { expect, it } from "vitest";
import { FakeStreams } from "../2025-11-25/streams.ts";
import { text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { serve, type StartedServer, startServer } from "../../kit/server.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import type { Tasks } from "holdfast";
import { fourTools } from "./job.ts";
import { LiteralModel, type ListedTool } from "./literal-model.ts";

const options = { plainDeadlineMs: 20 } as const;

/** A tool that asks a question between two steps, each of which takes longer than a call waits. */
function addReport(tasks: Tasks): void {
  tasks.tool("send_report", { requires: ["elicitation"] }, async (_args, task) => {
    const rows = await task.step("rows", () => 12);
    await task.sleep("slowly", 60);
    const answer = await task.elicit("send", {
      message: `Send ${rows} rows?`,
      requestedSchema: {
        type: "object",
        properties: { to: { type: "string" }, copies: { type: "integer", minimum: 1 } },
        required: ["to", "copies"],
      },
    });
    await task.sleep("as slowly", 60);
    const { to, copies } = answer.content ?? {};
    return text(`${rows} rows to ${String(to)}, ${String(copies)} times`);
  });
}

const knows = { to: "ann@example.com", copies: 2 };
const expected = "12 rows to ann@example.com, 2 times";

it.each([
  ["2025-11-25", "task_result", {}],
  ["2024-11-05", "task_result", {}],
  ["2025-11-25", "task_answer", fourTools],
] as const)(
  "a model that follows the texts to the letter completes a call with a question, on %s, with %s",
  async (version, answers, pollingTools) => {
    const { server }: StartedServer = await startServer(addReport, { ...options, pollingTools });
    const session = await InMemorySession.open(server, { version, streams: new FakeStreams() });
    const model = new LiteralModel(
      {
        tools: async () => (await session.request("tools/list"))["tools"] as ListedTool[],
        call: (name, args) => session.result(session.call(name, args)),
      },
      knows,
    );
    expect(await model.complete("send_report")).toBe(expected);
    expect(model.called[0]).toBe("send_report");
    expect(model.called.filter((name) => name === "send_report")).toHaveLength(1);
    expect(model.called).toContain(answers);
    expect(new Set(model.called)).toEqual(new Set(["send_report", "task_result", answers]));
    expect(model.called.at(-1)).toBe("task_result");
  },
);

it("completes it on 2026-07-28, where the reference is the id", async () => {
  const { http } = await serve({ tools: addReport, options });
  const peer = new StatelessClient(http.url);
  const without = { capabilities: {} };
  const model = new LiteralModel(
    {
      tools: async () => (await peer.result("tools/list", {}, without))["tools"] as ListedTool[],
      call: (name, args) => peer.result("tools/call", { name, arguments: args }, without),
    },
    knows,
  );
  expect(await model.complete("send_report")).toBe(expected);
});

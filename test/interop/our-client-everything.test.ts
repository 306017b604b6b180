import type { InputRequest, InputResult } from "holdfast/client";
import { memoryStore } from "holdfast/memory";
import { describe, expect, it } from "vitest";
import { fullForm } from "../full-form.ts";
import { everythingOver } from "./our-client-everything.ts";

const deadline = 60_000;
const capabilities = { elicitation: { form: {} }, sampling: {} };

async function answer({ method }: InputRequest): Promise<InputResult> {
  if (method === "sampling/createMessage") {
    return { role: "assistant", model: "none", content: { type: "text", text: "42" } };
  }
  return { action: "accept", content: { interpretation: "technical", name: "Ada" } };
}

const ways = fullForm ? (["stdio", "http", "http+sse"] as const) : (["stdio", "http+sse"] as const);

describe.each(ways)("the reference everything server over %s", (way) => {
  it("runs a research that asks back, as a task", { timeout: deadline }, async () => {
    const asked: InputRequest[] = [];
    const client = await everythingOver(way, {
      capabilities,
      onInput: async (request) => {
        asked.push(request);
        return answer(request);
      },
    });
    const handle = await client.startTool("simulate-research-query", { topic: "tasks", ambiguous: true });
    expect(handle.reference).toMatchObject({ generation: "2025-11-25" });
    const statuses = new Set<string>();
    for await (const { status } of handle.updates()) statuses.add(status);
    expect([...statuses]).toEqual(["working", "input_required", "completed"]);
    const { content } = await handle.result();
    expect(JSON.stringify(content)).toContain("Research Report: tasks (technical)");
    expect(asked).toMatchObject([{ method: "elicitation/create", taskId: handle.taskId }]);
  });

  it("runs its plain tools, with progress and questions", { timeout: deadline }, async () => {
    const asked: unknown[] = [];
    const client = await everythingOver(way, {
      capabilities,
      onInput: async (request) => {
        asked.push([request.method, request.taskId]);
        return answer(request);
      },
    });
    const reports: unknown[] = [];
    const long = client.callTool(
      "trigger-long-running-operation",
      { duration: 0.2, steps: 2 },
      { onProgress: (report) => reports.push(report) },
    );
    expect(await long).toMatchObject({ content: [{ text: expect.stringContaining("completed") as string }] });
    expect(reports).toEqual([1, 2].map((progress) => ({ progress, total: 2 })));
    const sampled = await client.callTool("trigger-sampling-request", { prompt: "6 by 7?", maxTokens: 9 });
    expect(JSON.stringify(sampled)).toContain("42");
    const elicited = await client.callTool("trigger-elicitation-request");
    expect(JSON.stringify(elicited)).toContain("Ada");
    expect(asked).toEqual([
      ["sampling/createMessage", null],
      ["elicitation/create", null],
    ]);
  });

  it("cancels a research, for good", { timeout: deadline }, async () => {
    const client = await everythingOver(way, {});
    const handle = await client.startTool("simulate-research-query", { topic: "tasks" });
    await handle.cancel();
    await expect(handle.result()).rejects.toMatchObject({ code: "cancelled" });
    await handle.cancel(); // nothing left to do
  });

  it("runs its questions as tasks of ours", { timeout: deadline }, async () => {
    const asked: unknown[] = [];
    const client = await everythingOver(way, {
      capabilities,
      receiveTasks: { store: memoryStore(), pollIntervalMs: 50 },
      onInput: async (request) => {
        asked.push(request.method);
        return answer(request);
      },
    });
    const [elicited, sampled] = await Promise.all([
      client.callTool("trigger-elicitation-request-async"),
      client.callTool("trigger-sampling-request-async", { prompt: "6 by 7?", maxTokens: 9 }),
    ]);
    expect(JSON.stringify(elicited)).toContain("Ada");
    expect(JSON.stringify(elicited)).toContain("Task created");
    expect(JSON.stringify(sampled)).toContain("42");
    expect(JSON.stringify(sampled)).toContain("Task created");
    expect(new Set(asked)).toEqual(new Set(["elicitation/create", "sampling/createMessage"]));
    expect(asked).toHaveLength(2);
  });
});

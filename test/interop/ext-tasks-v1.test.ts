import { resultFromTaskOutcome, type ApplicationInputHandler } from "@modelcontextprotocol/ext-tasks/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { peers, type Peers } from "./ext-tasks-v1.ts";
import { textOf, ways } from "./sdk-v1-client.ts";

/** A question, and all that the driver had sent when it came. */
interface Asked {
  readonly message: unknown;
  readonly taskId: unknown;
  readonly before: readonly string[];
}

const answers: Readonly<Record<string, object>> = {
  "Delete a.txt?": { confirm: true },
  "What is your name?": { name: "Ada" },
  "Continue?": { confirm: true },
};

// Its driver calls tasks/result only once a task has ended.
describe.each(ways)("the 2025-11-25 driver of ext-tasks over %s", { timeout: 60_000 }, (way) => {
  const asked: Asked[] = [];
  let both: Peers;
  beforeAll(async () => {
    const onInputRequest = (async ({ kind, params }, context) => {
      const message = params?.["message"];
      const taskId = "taskId" in context ? context.taskId : undefined;
      asked.push({ message, taskId, before: [...both.sent] });
      if (kind === "sampling")
        return { role: "assistant", model: "m", content: { type: "text", text: "So." } };
      return { action: "accept", content: answers[typeof message === "string" ? message : ""] };
    }) as ApplicationInputHandler["handle"];
    both = await peers(way, onInputRequest);
  });
  afterAll(async () => {
    expect(both.errors).toEqual([]);
    await both[Symbol.asyncDispose]();
  });

  it.each([
    ["confirm_delete", { filename: "a.txt" }, "Would delete a.txt.", 1],
    ["multi_input", {}, "name: Ada, confirm: true", 2],
    ["ask_model", { prompt: "Why?" }, "So.", 1],
    ["test_tool_with_task", {}, "Hello, Ada!", 1],
  ])("answers the questions of %s before it asks for a result [A-14]", async (name, args, text, count) => {
    asked.length = 0;
    both.sent.length = 0;
    const execution = await both.session.callTool(name, args, { task: { preference: "require" } });
    const { outcome } = await execution.settle();
    expect(resultFromTaskOutcome(outcome)).toMatchObject(textOf(text));
    expect(asked).toHaveLength(count);
    const handle = execution.kind === "task" ? execution.handle : undefined;
    expect(asked.map(({ taskId }) => taskId)).toEqual(asked.map(() => handle?.taskId));
    for (const { before } of asked) expect(before).not.toContain("tasks/result");
    expect(both.sent.filter((method) => method === "tasks/result")).toHaveLength(1);
  });

  it("ends a task that failed, and cancels one", async () => {
    const failing = await both.session.callTool("failing_job", {}, { task: { preference: "require" } });
    expect((await failing.result()).status).toBe("failed");
    const endless = await both.session.callTool("never_ends", {}, { task: { preference: "require" } });
    await endless.cancel();
    expect((await endless.result()).status).toBe("cancelled");
    const { tasks } = await both.session.listTasks();
    expect(tasks.slice(0, 2).map(({ status }) => status)).toEqual(["cancelled", "failed"]);
  });
});

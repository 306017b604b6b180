import { describe, expect, it } from "vitest";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { HoldfastError } from "../../src/task/fault.ts";
import { bodyOf, nobody, Process, text, type Handler } from "./harness.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const never = new Promise<never>(() => undefined);
const declined = { code: -1, message: "The user is away", data: { until: "noon" } };

const ask: Handler = async (_, task) => text((await task.elicit("go", question)).action);

function refuse(process: Process, id: string, error: unknown, key = "go"): Promise<void> {
  return process.runtime.answer(id, nobody, [{ key, error: JSON.stringify(error) }]);
}

async function asked(tool: Handler): Promise<{ readonly process: Process; readonly id: string }> {
  const process = await Process.started({ tools: { tool }, options: { maxBodyBytes: 1_000 } });
  const id = await process.callId("tool");
  await process.asked(id);
  return { process, id };
}

describe("a question that the client answers with an error", () => {
  it("rejects with a fault that names both, and has the client's error as data", async () => {
    const caught: unknown[] = [];
    const { process, id } = await asked(async (_, task) => {
      await task.elicit("go", question).catch((error: unknown) => caught.push(error));
      return text("went on");
    });
    await refuse(process, id, declined);
    expect(bodyOf(await process.ended(id))).toEqual(text("went on"));
    expect(caught).toEqual([expect.any(HoldfastError)]);
    expect(caught[0]).toMatchObject({
      code: "input_failed",
      message: 'The client answered the question "go" with an error: The user is away',
      data: declined,
    });
  });

  it("uncaught is a result with isError, and not the client's error as that of its call [A-04]", async () => {
    const { process, id } = await asked(ask);
    await refuse(process, id, declined);
    const ended = await process.ended(id);
    expect(ended.task.outcomeKind).toBe("error_result");
    const message = 'The client answered the question "go" with an error: The user is away';
    expect(bodyOf(ended)).toEqual({ ...text(message), isError: true });
  });

  it.each<[string, (task: TaskContext) => Promise<unknown>]>([
    ["sample", (task) => task.sample("go", { messages: [], maxTokens: 1 })],
    ["roots", (task) => task.roots("go")],
  ])("may be one of %s too", async (_, put) => {
    const { process, id } = await asked(async (__, task) => {
      await put(task);
      return text("not reached");
    });
    await refuse(process, id, { code: -32601, message: "no such method" });
    expect(JSON.stringify(bodyOf(await process.ended(id)))).toContain("no such method");
  });

  it("rejects again on a replay, and is not asked again", async () => {
    const caught: unknown[] = [];
    const tool =
      (hangs: boolean): Handler =>
      async (_, task) => {
        await task.elicit("go", question).catch((error: unknown) => caught.push(error));
        if (hangs) await task.step("hang", () => never);
        return text("went on");
      };
    const first = await Process.started({ tools: { tool: tool(true) } });
    const id = await first.callId("tool");
    await first.asked(id);
    await refuse(first, id, declined);
    await first.until(id, () => caught.length === 1);
    const second = await first.crash({ tools: { tool: tool(false) } });
    expect(bodyOf(await second.ended(id))).toEqual(text("went on"));
    expect(caught[1]).toEqual(caught[0]);
    expect(caught[1]).toMatchObject({ code: "input_failed", data: declined });
  });

  it("can be handed on through a step, on a replay too", async () => {
    const caught: unknown[] = [];
    const { process, id } = await asked(async (_, task) => {
      const failure: unknown = await task.elicit("go", question).catch((error: unknown) => error);
      const fail = (): never => {
        throw failure;
      };
      await task.step("s", fail).catch((error: unknown) => caught.push(error));
      return text("went on");
    });
    await refuse(process, id, declined);
    await process.ended(id);
    expect(caught).toMatchObject([{ code: "input_failed", data: declined }]);
    expect(await process.store.journalEntry(id, "s")).toMatchObject({ kind: "step" });
  });

  it.each([
    [{ message: "no code" }],
    [{ code: "1", message: "no number" }],
    [{ code: 1.5, message: "no whole number" }],
    [{ code: 1 }],
    ["text"],
    [null],
  ])("stays open where what came is no JSON-RPC error: %j", async (error) => {
    const { process, id } = await asked(ask);
    await expect(refuse(process, id, error)).rejects.toMatchObject({ code: "invalid_params" });
    expect((await process.get(id)).inputs).toHaveLength(1);
  });

  it("stays open where the error is too large, and takes nothing else that came with it", async () => {
    const { process, id } = await asked(ask);
    const huge = { code: 1, message: "x".repeat(2_000) };
    await expect(refuse(process, id, huge)).rejects.toMatchObject({ code: "invalid_params" });
    expect((await process.get(id)).inputs).toHaveLength(1);
  });

  it("is ignored for what is not open, and once there is an answer", async () => {
    const { process, id } = await asked(ask);
    await refuse(process, id, declined, "other");
    await process.answer(id, "go", { action: "accept" });
    await refuse(process, id, declined);
    expect(bodyOf(await process.ended(id))).toEqual(text("accept"));
  });
});

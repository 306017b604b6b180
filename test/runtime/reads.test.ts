import { describe, expect, it, vi } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import { nobody, Process, text, type Handler, type Setup } from "./harness.ts";
import type { StoreCall } from "./watched-store.ts";

const never = new Promise<never>(() => undefined);
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: {} };
const questions = 40;

/** Puts all its questions at once; ends when they are answered. */
const asks: Handler = async (_, task) => {
  await Promise.all(Array.from({ length: questions }, (_each, n) => task.elicit(`q${n}`, question)));
  return text("answered");
};

/** A process that counts what it reads of its store. */
function watched(tools: Setup["tools"]): { readonly setup: Setup; readonly reads: Map<StoreCall, number> } {
  const reads = new Map<StoreCall, number>();
  const before = (call: StoreCall): void => void reads.set(call, (reads.get(call) ?? 0) + 1);
  return { setup: { tools, before }, reads };
}

describe("an outcome, which may be large", () => {
  const acts: [name: string, act: (process: Process, id: string) => Promise<unknown>][] = [
    ["cancel", ({ runtime }, id) => runtime.cancel(id, nobody)],
    ["cancelNow", ({ runtime }, id) => runtime.cancelNow(id, nobody).catch(() => undefined)],
    ["answer", (process, id) => process.answer(id, "q", yes)],
    ["originOf", ({ runtime }, id) => runtime.originOf(id, nobody)],
    ["delivered", ({ runtime }, id) => runtime.delivered(id, nobody)],
    ["delete", ({ runtime }, id) => runtime.delete(id, nobody)],
  ];

  it.each(acts)("is not read for %s", async (_, act) => {
    const { setup, reads } = watched({ ends: () => text("done"), hangs: () => never });
    const process = await Process.started(setup);
    const ended = await process.callId("ends", { idempotencyKey: "i" });
    await process.ended(ended);
    const running = await process.callId("hangs");
    reads.clear();
    await act(process, ended);
    if (act !== acts.at(-1)?.[1]) await act(process, running);
    expect(reads.get("snapshot")).toBeUndefined();
  });

  it("is not read to refuse what is another's", async () => {
    const process = await Process.started({ tools: { ends: () => text("done") } });
    const id = await process.callId("ends", { requiredScopes: ["reports"] });
    await process.ended(id);
    const snapshot = vi.spyOn(process.store, "snapshot");
    await expect(process.runtime.get(id, { ...nobody, principal: "bob" })).rejects.toThrow("Unknown");
    await expect(process.runtime.get(id, { ...nobody, scopes: [] })).rejects.toThrow("scopes reports");
    const none = { type: "fulfilled", value: undefined };
    expect(snapshot.mock.settledResults).toEqual([none, none]);
  });

  it("comes with its record in one read", async () => {
    const { setup, reads } = watched({ ends: () => text("done") });
    const process = await Process.started(setup);
    const id = await process.callId("ends");
    await process.ended(id);
    reads.clear();
    expect(await process.runtime.get(id, nobody)).toMatchObject({ outcome: { kind: "result" } });
    expect(Object.fromEntries(reads)).toEqual({ snapshot: 1 });
  });
});

describe("the request of a task", () => {
  it("is read where the task was queued, and not where it runs at once", async () => {
    const { setup, reads } = watched({ ends: () => text("done") });
    const process = await Process.started(setup);
    await process.ended(await process.callId("ends"));
    expect(reads.get("request")).toBeUndefined();
    await process.ended(await process.callId("ends", { queued: true }));
    expect(reads.get("request")).toBe(1);
  });
});

describe("of many open questions", () => {
  it("an answer reads its own alone", async () => {
    const { setup, reads } = watched({ asks });
    const process = await Process.started(setup);
    const id = await process.callId("asks");
    await process.asked(id, questions);
    reads.clear();
    for (let n = 0; n < questions; n++) {
      await process.answer(id, `q${n}`, yes);
      await rest();
    }
    // One to judge the answer, one to hand it to the handler.
    expect(reads.get("journalEntry")).toBe(2 * questions);
    // One to find the task; the answer itself shows that no other question has ended.
    expect(reads.get("get")).toBe(questions);
    expect(reads.get("snapshot")).toBeUndefined();
    await process.ended(id);
  });

  it("an end of something else reads none of them", async () => {
    const { setup, reads } = watched({
      steps: async (args, task) => {
        const asking = asks(args, task);
        await task.sleep("nap", 1_000);
        for (const key of ["a", "b", "c"]) await task.step(key, () => key);
        return asking;
      },
    });
    const process = await Process.started(setup);
    const id = await process.callId("steps");
    await process.asked(id, questions);
    reads.clear();
    await process.clock.advance(1_000);
    expect(reads.get("record_step")).toBe(3);
    for (const read of ["journalEntry", "get", "snapshot"] as const) expect(reads.get(read)).toBeUndefined();
  });

  it("an answer to more keys than there are questions reads the questions at once", async () => {
    const { setup, reads } = watched({ asks });
    const process = await Process.started(setup);
    const id = await process.callId("asks");
    await process.asked(id, questions);
    reads.clear();
    const keys = Array.from({ length: questions + 1 }, (_, n) => `q${n}`);
    const answers = keys.map((key) => ({ key, value: JSON.stringify(yes) }));
    await process.runtime.answer(id, nobody, answers);
    expect(reads.get("snapshot")).toBe(1);
    await rest(); // until the handler has them
    expect(reads.get("journalEntry")).toBe(questions);
    await process.ended(id);
  });

  it("a later attempt, and a deadline, look a few times at each and not once for each other", async () => {
    const first = await Process.started({ tools: { asks: { config: { park: false }, handler: asks } } });
    const id = await first.callId("asks");
    await first.asked(id, questions);
    const config = { inputTimeoutMs: 1_000, park: false };
    const { setup, reads } = watched({ asks: { config, handler: asks } });
    const second = await first.crash(setup);
    await second.until(id, ({ task }) => task.attempt === 2 && task.waiting);
    await second.answer(id, "q0", yes);
    expect(reads.get("journalEntry")).toBeLessThan(4 * questions);

    reads.clear();
    const late = await second.callId("asks");
    await second.asked(late, questions);
    await second.clock.advance(1_000);
    await second.ended(late);
    expect(reads.get("journalEntry")).toBeLessThan(4 * questions);
  });
});

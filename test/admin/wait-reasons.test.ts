import { expect, it } from "vitest";
import type { AdminWaitReason, TaskQuery } from "../../src/admin/admin.ts";
import { Process, text, type Setup } from "../runtime/harness.ts";
import { adminOf } from "./operator.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const day = 24 * 3_600_000;

const tools: Setup["tools"] = {
  asks: async (_args, task) => text(JSON.stringify(await task.elicit("go", question))),
  expects: async (_args, task) => text(String(await task.waitForEvent("paid", "payment"))),
  sleeps: async (_args, task) => {
    await task.sleep("a day", day);
    return text("awake");
  },
  retries: async (_args, task) =>
    text(
      await task.step("charge", { retries: 5, backoff: { firstMs: day, maxMs: day } }, (): string => {
        throw new Error("The provider is down.");
      }),
    ),
  calls: async (_args, task) => {
    await task.call("below", "sleeps", {});
    return text("called");
  },
  works: async (_args, task) => task.step("for ever", () => new Promise<never>(() => undefined)),
};

const waits: readonly (readonly [tool: string, state: string, waitsFor: AdminWaitReason | null])[] = [
  ["asks", "input_required", "question"],
  ["expects", "waiting", "event"],
  ["sleeps", "waiting", "sleep"],
  ["retries", "waiting", "retry"],
  ["calls", "waiting", "call"],
  ["works", "running", null],
];

it("says what each task waits for, before and after a crash, and lists by it", async () => {
  let process = await Process.started({ tools });
  const ids = new Map<string, string>();
  for (const [tool] of waits) ids.set(tool, await process.callId(tool));
  for (const hasCrashed of [false, true]) {
    if (hasCrashed) process = await process.crash({ tools });
    const admin = adminOf(process);
    for (const [tool, state, waitsFor] of waits)
      await expect
        .poll(async () => (await admin.show(ids.get(tool) ?? "")) satisfies object, { timeout: 10_000 })
        .toMatchObject({ state, waitsFor });
    const listed = async (query: TaskQuery): Promise<readonly string[]> => {
      const { tasks } = await admin.list(query);
      return tasks
        .filter(({ parent }) => parent === null)
        .map(({ tool }) => tool)
        .toSorted();
    };
    expect(await listed({ waitsFor: ["event"] })).toEqual(["expects"]);
    expect(await listed({ waitsFor: ["retry", "call"] })).toEqual(["calls", "retries"]);
    expect(await listed({ waitsFor: ["sleep"], states: ["running"] })).toEqual([]);
    expect(await listed({ states: ["running"] })).toEqual(["works"]);
    const counted = async (): Promise<unknown> =>
      (await admin.counts()).tools.map((of) => [of.tool, of.waiting, of.running, of.inputRequired]);
    await expect.poll(counted).toEqual([
      ["asks", 0, 0, 1],
      ["calls", 1, 0, 0],
      ["expects", 1, 0, 0],
      ["retries", 1, 0, 0],
      ["sleeps", 2, 0, 0],
      ["works", 0, 1, 0],
    ]);
    const reasons = (await admin.counts()).tools.map(({ waitsFor }) =>
      Object.entries(waitsFor).flatMap(([reason, count]) => (count > 0 ? [`${count} ${reason}`] : [])),
    );
    expect(reasons).toEqual([["1 question"], ["1 call"], ["1 event"], ["1 retry"], ["2 sleep"], []]);
  }
  await expect(adminOf(process).list({ waitsFor: ["lunch"] } as unknown as TaskQuery)).rejects.toThrow(
    'waitsFor.0 must be one of question, event, call, sleep, retry, limit, slot, not "lunch".',
  );
});

import { describe, expect, test } from "vitest";
import type { Outcome } from "../../src/task/outcome.ts";
import type { ContractContext } from "./store-contract.ts";
import { createQueued, createRunning, noon } from "./sample-task.ts";

const id = "task-a";
const result: Outcome = { kind: "result", body: '{"content":[]}' };
const error: Outcome = { kind: "error", body: '{"code":-32603,"message":"no"}' };

export function settleContract(current: () => ContractContext): void {
  const settle = (outcome: Outcome) =>
    current().store.write({ type: "settle", now: noon + 5, id, token: "t1", outcome });

  describe("settle", () => {
    test("the outcome is there with the state, in one snapshot", async () => {
      await current().store.write(createRunning("a"));
      expect(await settle(result)).toMatchObject({ ok: true, task: { state: "settled", token: null } });
      expect(await current().store.snapshot(id)).toMatchObject({
        task: { state: "settled", finishedAt: noon + 5, version: 2 },
        outcome: result,
      });
    });

    test("the first of two settlements at the same time wins", async () => {
      await current().store.write(createRunning("a"));
      const [first, second] = await Promise.all([settle(result), settle(error)]);
      expect(first.ok).toBe(true);
      expect(second).toEqual({ ok: false, reason: "finished" });
      expect((await current().store.snapshot(id))?.outcome).toEqual(result);
    });

    test("nothing moves a finished task", async () => {
      const { store } = current();
      await store.write(createRunning("a"));
      await settle(result);
      const before = await store.snapshot(id);
      const finished = { ok: false, reason: "finished" };
      const statusMessage = "late";
      expect(await store.write({ type: "cancel", now: noon + 6, id })).toEqual(finished);
      expect(await store.write({ type: "request_cancel", now: noon + 6, id })).toEqual(finished);
      expect(await store.write({ type: "start", now: noon + 6, id, token: "t2" })).toEqual(finished);
      expect(await store.write({ type: "fail", now: noon + 6, id, outcome: error, statusMessage })).toEqual(
        finished,
      );
      expect(await store.write({ type: "answer_inputs", now: noon + 6, id, answers: [] })).toEqual(finished);
      expect(
        await store.write({ type: "update", now: noon + 6, id, token: "t1", changes: { statusMessage } }),
      ).toEqual(finished);
      expect(await store.snapshot(id)).toEqual(before);
    });

    test("a cancelled task has no outcome", async () => {
      await current().store.write(createQueued("a"));
      await current().store.write({ type: "cancel", now: noon + 5, id, statusMessage: "stopped" });
      expect(await current().store.snapshot(id)).toMatchObject({
        task: { state: "cancelled", statusMessage: "stopped", cancelRequestedAt: noon + 5 },
        outcome: null,
      });
    });

    test("an update replaces what it names, progress included", async () => {
      const { store } = current();
      await store.write(createRunning("a", { statusMessage: "begun" }));
      const progress = { progress: 1.5, total: 3, message: "half" };
      await store.write({ type: "update", now: noon + 1, id, token: "t1", changes: { progress } });
      expect(await store.get(id)).toMatchObject({ progress, statusMessage: "begun", updatedAt: noon });
      const expiry = { from: "terminal", ms: 7 } as const;
      const changes = { statusMessage: null, pollIntervalMs: 9, expiry };
      await store.write({ type: "update", now: noon + 2, id, token: "t1", changes });
      expect(await store.get(id)).toMatchObject({ ...changes, progress, sweepAt: null, updatedAt: noon + 2 });
    });

    test("a command about an unknown task says so", async () => {
      expect(await settle(result)).toEqual({ ok: false, reason: "unknown" });
    });
  });
}

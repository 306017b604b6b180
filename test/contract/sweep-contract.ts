import { describe, expect, test } from "vitest";
import type { Expiry } from "../../src/task/expiry.ts";
import type { ContractContext } from "./store-contract.ts";
import { createQueued, createRunning, noon } from "./sample-task.ts";

function lives(ms: number | null, from: Expiry["from"] = "created"): { readonly expiry: Expiry } {
  return { expiry: { from, ms } };
}

const lost = { outcome: { kind: "error", body: "{}" }, statusMessage: "expired" } as const;

export function sweepContract(current: () => ContractContext): void {
  const finish = (name: string, now = noon) =>
    current().store.write({ type: "cancel", now, id: `task-${name}` });
  const sweep = (now: number, limit = 10) => current().store.write({ type: "delete_expired", now, limit });

  describe("sweep", () => {
    test("due names unfinished tasks at their end of life, earliest first", async () => {
      const { store } = current();
      await store.write(createQueued("a", lives(30)));
      await store.write(createRunning("b", lives(10)));
      await store.write(createQueued("c", lives(20)));
      await store.write(createQueued("d", lives(31)));
      await store.write(createQueued("e", lives(null)));
      await store.write(createQueued("f", lives(1, "terminal")));
      await store.write(createQueued("g", lives(5)));
      await finish("g");
      expect(await store.due(noon + 30, 10)).toEqual(["task-b", "task-c", "task-a"]);
      expect(await store.due(noon + 30, 2)).toEqual(["task-b", "task-c"]);
      expect(await store.due(noon + 9, 10)).toEqual([]);
    });

    test("a task that was extended is due later", async () => {
      const { store } = current();
      await store.write(createRunning("a", lives(10)));
      await store.write({ type: "update", now: noon, id: "task-a", token: "t1", changes: lives(50) });
      expect(await store.due(noon + 49, 10)).toEqual([]);
      expect(await store.due(noon + 50, 10)).toEqual(["task-a"]);
      const early = {
        type: "expire",
        now: noon + 49,
        id: "task-a",
        visibleUntil: noon + 99,
        ...lost,
      } as const;
      expect(await store.write(early)).toEqual({ ok: false, reason: "not_due" });
    });

    test("an expired task is settled, visible for a while, then deletable", async () => {
      const { store } = current();
      await store.write(createRunning("a", lives(10)));
      const expire = {
        type: "expire",
        now: noon + 10,
        id: "task-a",
        visibleUntil: noon + 70,
        ...lost,
      } as const;
      expect(await store.write(expire)).toMatchObject({
        ok: true,
        task: { state: "settled", sweepAt: noon + 70 },
      });
      expect(await store.due(noon + 99, 10)).toEqual([]);
      expect(await sweep(noon + 69)).toEqual({ ok: true, deleted: [] });
      expect(await sweep(noon + 70)).toEqual({ ok: true, deleted: ["task-a"] });
    });

    test("delete_expired takes finished tasks only, earliest first, up to its limit", async () => {
      const { store } = current();
      for (const [name, ms] of [
        ["a", 30],
        ["b", 10],
        ["c", 20],
        ["d", 40],
      ] as const) {
        await store.write(createQueued(name, lives(ms)));
        await finish(name);
      }
      await store.write(createQueued("e", lives(1)));
      await store.write(createQueued("f", lives(null)));
      await finish("f");
      expect(await sweep(noon + 30, 2)).toEqual({ ok: true, deleted: ["task-b", "task-c"] });
      expect(await sweep(noon + 30, 2)).toEqual({ ok: true, deleted: ["task-a"] });
      expect(await sweep(noon + 30, 2)).toEqual({ ok: true, deleted: [] });
      expect(await store.get("task-e")).toBeDefined();
      expect(await store.get("task-f")).toBeDefined();
    });

    test("a deleted task leaves nothing, and its ids and keys are free again", async () => {
      const { store } = current();
      const create = createRunning("a", { ...lives(10), idempotencyKey: "i", wireId: "w" });
      await store.write(create);
      const step = {
        type: "record_step",
        now: noon,
        id: "task-a",
        token: "t1",
        key: "k",
        value: "1",
      } as const;
      await store.write({ ...step, error: null });
      const outcome = { kind: "result", body: "{}" } as const;
      await store.write({ type: "settle", now: noon, id: "task-a", token: "t1", outcome });
      await sweep(noon + 10);
      expect(await store.get("task-a")).toBeUndefined();
      expect(await store.snapshot("task-a")).toBeUndefined();
      expect(await store.request("task-a")).toBeUndefined();
      expect(await store.journal("task-a")).toEqual([]);
      expect(await store.write({ ...create, token: null })).toMatchObject({ ok: true, created: true });
      expect(await store.snapshot("task-a")).toMatchObject({ outcome: null, task: { state: "queued" } });
      expect(await store.journal("task-a")).toEqual([]);
    });

    test("nextSweepAt is the earlier of expiry and deletion, and null where nothing is to come", async () => {
      const { store } = current();
      expect(await store.nextSweepAt()).toBeNull();
      await store.write(createQueued("a", lives(null)));
      expect(await store.nextSweepAt()).toBeNull();
      await store.write(createQueued("b", lives(40)));
      expect(await store.nextSweepAt()).toBe(noon + 40);
      await store.write(createQueued("c", lives(30, "terminal")));
      await finish("c");
      expect(await store.nextSweepAt()).toBe(noon + 30);
      await sweep(noon + 30);
      expect(await store.nextSweepAt()).toBe(noon + 40);
    });
  });
}

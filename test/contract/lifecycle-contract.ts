import { describe, expect, test } from "vitest";
import type { ContractContext } from "./store-contract.ts";
import { createQueued, createRunning, noon } from "./sample-task.ts";

export function lifecycleContract(current: () => ContractContext): void {
  describe("life", () => {
    test("a store cannot be opened twice, and stays usable", async () => {
      const { store } = current();
      await expect(store.open()).rejects.toMatchObject({ code: "configuration" });
      expect(await store.write(createQueued("a"))).toMatchObject({ ok: true });
    });

    test("a store that is not open yet refuses all use", async () => {
      const { place } = current();
      const store = place.store();
      await expect(store.write(createQueued("a"))).rejects.toMatchObject({ code: "store_closed" });
      await expect(store.get("task-a")).rejects.toMatchObject({ code: "store_closed" });
    });

    test("after close everything rejects with store_closed", async () => {
      const { store } = current();
      await store.write(createQueued("a"));
      await store.close();
      const calls = [
        () => store.write(createQueued("b")),
        () => store.get("task-a"),
        () => store.snapshot("task-a"),
        () => store.request("task-a"),
        () => store.journal("task-a"),
        () => store.journalEntry("task-a", "k"),
        () => store.unfinished("", 10),
        () => store.due(noon, 10),
        () => store.nextSweepAt(),
        () => store.open(),
      ];
      for (const call of calls) await expect(call()).rejects.toMatchObject({ code: "store_closed" });
    });

    test("close can be repeated", async () => {
      const { store } = current();
      await Promise.all([store.close(), store.close()]);
      await store.close();
    });

    test("close while opening waits for the open, then closes", async () => {
      const { place, store } = current();
      await store.close();
      const second = place.store();
      const opening = second.open();
      await second.close();
      await opening;
      await expect(second.get("task-a")).rejects.toMatchObject({ code: "store_closed" });
    });

    test("a write that was made before close is kept and answered", async () => {
      const { kind, place, store } = current();
      const writes = Array.from({ length: 50 }, (_, index) => store.write(createQueued(`w${index}`)));
      await store.close();
      for (const result of await Promise.all(writes)) expect(result.ok).toBe(true);
      if (!kind.durable) return;
      const second = place.store();
      current().store = second;
      await second.open();
      expect(await second.unfinished("", 100)).toHaveLength(50);
    });

    test("a second store in the same place finds what was kept, or nothing where the kind forgets", async () => {
      const { kind, place, store } = current();
      await store.write(createRunning("a"));
      await store.write({
        type: "record_step",
        now: noon,
        id: "task-a",
        token: "t1",
        key: "k",
        value: "1",
        error: null,
      });
      const seen = [
        await store.snapshot("task-a"),
        await store.request("task-a"),
        await store.journal("task-a"),
      ];
      await store.close();
      const second = place.store();
      current().store = second;
      await second.open();
      const found = [
        await second.snapshot("task-a"),
        await second.request("task-a"),
        await second.journal("task-a"),
      ];
      expect(found).toEqual(kind.durable ? seen : [undefined, undefined, []]);
    });
  });
}

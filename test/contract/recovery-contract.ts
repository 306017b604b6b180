import { describe, expect, test } from "vitest";
import type { ContractContext } from "./store-contract.ts";
import { createQueued, createRunning, noon } from "./sample-task.ts";

export function recoveryContract(current: () => ContractContext): void {
  describe("recovery", () => {
    test("recover gives every running task back, and only those", async () => {
      const { store } = current();
      await store.write(createRunning("a"));
      await store.write(createQueued("b"));
      await store.write(createRunning("c"));
      await store.write({ type: "cancel", now: noon, id: "task-c" });
      await store.write(createRunning("d"));
      await store.write({ type: "mark", now: noon, id: "task-d", token: "t1", waiting: true });

      expect(await store.write({ type: "recover", now: noon + 1 })).toEqual({ ok: true, recovered: 2 });
      expect(await store.get("task-a")).toMatchObject({
        state: "queued",
        token: null,
        crashes: 1,
        version: 2,
      });
      expect(await store.get("task-b")).toMatchObject({ state: "queued", crashes: 0, version: 1 });
      expect(await store.get("task-c")).toMatchObject({ state: "cancelled", version: 2 });
      expect(await store.get("task-d")).toMatchObject({ state: "queued", crashes: 0, journalled: true });
      expect(await store.write({ type: "recover", now: noon + 2 })).toEqual({ ok: true, recovered: 0 });
    });

    test("recover reaches every one of many tasks", async () => {
      const { store } = current();
      const count = 2300;
      await Promise.all(Array.from({ length: count }, (_, index) => store.write(createRunning(`r${index}`))));
      expect(await store.write({ type: "recover", now: noon })).toEqual({ ok: true, recovered: count });
      const tasks = await store.unfinished("", count + 1);
      expect(tasks.filter(({ state, crashes }) => state === "queued" && crashes === 1)).toHaveLength(count);
    });

    test("unfinished tasks come in pages, by id", async () => {
      const { store } = current();
      for (const name of ["e", "b", "d", "a", "c"]) await store.write(createQueued(name));
      await store.write({ type: "cancel", now: noon, id: "task-c" });
      await store.write({ type: "start", now: noon, id: "task-d", token: "t1" });
      const ids = async (after: string, limit: number) =>
        (await store.unfinished(after, limit)).map((task) => task.id);
      expect(await ids("", 2)).toEqual(["task-a", "task-b"]);
      expect(await ids("task-b", 2)).toEqual(["task-d", "task-e"]);
      expect(await ids("task-e", 2)).toEqual([]);
      // A page goes on where the last one ended, whether or not that task is still unfinished.
      expect(await ids("task-c", 9)).toEqual(["task-d", "task-e"]);
      expect((await store.unfinished("task-c", 1))[0]).toEqual(await store.get("task-d"));
    });

    test("an attempt that lost its task is fenced off", async () => {
      const { store } = current();
      await store.write(createRunning("a"));
      await store.write({ type: "recover", now: noon });
      await store.write({ type: "start", now: noon + 1, id: "task-a", token: "t2" });
      const outcome = { kind: "result", body: "{}" } as const;
      const late = await store.write({ type: "settle", now: noon + 2, id: "task-a", token: "t1", outcome });
      expect(late).toEqual({ ok: false, reason: "fenced" });
      expect(await store.get("task-a")).toMatchObject({ state: "running", token: "t2", attempt: 2 });
    });
  });
}

import { describe, expect, test, vi } from "vitest";
import type { TaskChange } from "../../src/store/store.ts";
import type { ContractContext } from "./store-contract.ts";
import { createQueued, createRunning, noon } from "./sample-task.ts";

const id = "task-a";

export function changeFeedContract(current: () => ContractContext): void {
  function record(): TaskChange[] {
    const seen: TaskChange[] = [];
    current().store.subscribe((changes) => void seen.push(...changes));
    return seen;
  }

  describe("changes", () => {
    test("each committed change is told once, in order, by the name of its command", async () => {
      const { store } = current();
      const seen = record();
      await store.write(createQueued("a", { expiry: { from: "created", ms: 10 } }));
      await store.write({ type: "start", now: noon, id, token: "t1" });
      await store.write({ type: "recover", now: noon });
      await store.write({ type: "request_cancel", now: noon, id });
      await store.write({ type: "cancel", now: noon, id });
      await store.write({ type: "delete_expired", now: noon + 10, limit: 10 });
      const events = ["create", "start", "recover", "request_cancel", "cancel", "delete"];
      expect(seen).toEqual(events.map((event) => ({ id, event })));
    });

    test("what changed nothing is not told", async () => {
      const { store } = current();
      await store.write(createRunning("a", { idempotencyKey: "i" }));
      const seen = record();
      await store.write(createRunning("b", { idempotencyKey: "i" }));
      await store.write(createRunning("a"));
      await store.write({ type: "start", now: noon, id, token: "t2" });
      await store.write({ type: "cancel", now: noon, id: "task-x" });
      await store.write({ type: "answer_inputs", now: noon, id, answers: [{ key: "x", value: "1" }] });
      await store.write({ type: "delete_expired", now: noon, limit: 10 });
      expect(seen).toEqual([]);
    });

    test("nothing is told inside the call, and all is told when the write resolves", async () => {
      const seen = record();
      const write = current().store.write(createQueued("a"));
      expect(seen).toEqual([]);
      await write;
      expect(seen).toEqual([{ id, event: "create" }]);
    });

    test("a listener can read the change that it is told", async () => {
      const { store } = current();
      const reads: Promise<unknown>[] = [];
      store.subscribe((changes) => void reads.push(...changes.map((change) => store.get(change.id))));
      await store.write(createQueued("a"));
      expect(await Promise.all(reads)).toMatchObject([{ id }]);
    });

    test("a listener that throws harms neither the write nor its neighbours", async () => {
      const warning = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
      try {
        current().store.subscribe(() => {
          throw new Error("listener");
        });
        const seen = record();
        expect(await current().store.write(createQueued("a"))).toMatchObject({ ok: true });
        expect(seen).toHaveLength(1);
        expect(warning).toHaveBeenCalledOnce();
      } finally {
        warning.mockRestore();
      }
    });

    test("a subscription ends by itself, and leaves the other one of the same listener", async () => {
      let calls = 0;
      const listener = () => void calls++;
      const stop = current().store.subscribe(listener);
      current().store.subscribe(listener);
      await current().store.write(createQueued("a"));
      expect(calls).toBe(2);
      stop();
      stop();
      await current().store.write(createQueued("b"));
      expect(calls).toBe(3);
    });

    test("who subscribes or stops while changes are told is heard from the next commit on", async () => {
      const { store } = current();
      const seen: string[] = [];
      const stops: (() => void)[] = [];
      store.subscribe(() => {
        for (const stop of stops) stop();
        store.subscribe(() => void seen.push("new"));
      });
      stops.push(store.subscribe(() => void seen.push("stopped")));
      await store.write(createQueued("a"));
      expect(seen).toEqual([]);
      await store.write(createQueued("b"));
      expect(seen).toEqual(["new"]);
    });
  });
}

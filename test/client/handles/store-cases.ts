import { describe, expect, it } from "vitest";
import type { HandleStore, StoredCall } from "../../../src/client/handles/handle-store.ts";
import { generation, storedCall, server, taskOf } from "./calls.ts";

const accepted = { action: "accept" as const, content: { ok: true } };

async function callsOf(store: HandleStore): Promise<readonly StoredCall[]> {
  const { calls, damaged } = await store.list();
  expect(damaged).toEqual([]);
  return calls;
}

/** What each handle store does. `make` makes one with nothing in it. */
export function describeHandleStore(storeName: string, make: () => Promise<HandleStore>): void {
  describe(storeName, () => {
    it("has nothing at first, and nothing to drop", async () => {
      const store = await make();
      await store.drop(storedCall());
      await store.dropTask(taskOf("t1"));
      expect(await callsOf(store)).toEqual([]);
      expect(await store.find(taskOf("t1"))).toBeUndefined();
      expect(await store.answer(taskOf("t1"), "approve")).toBeUndefined();
    });

    it("lists calls as they were kept, the oldest first", async () => {
      const store = await make();
      const round = { inputResponses: { approve: accepted }, requestState: "sealed" };
      const calls = [
        storedCall({ key: "b", startedAt: 1, ttlMs: 60_000, round }),
        storedCall({ key: "c", startedAt: 2, taskId: "t2" }),
        storedCall({ key: "a", startedAt: 3 }),
      ];
      for (const call of calls.toReversed()) await store.keep(call);
      expect(await callsOf(store)).toEqual(calls);
    });

    it("finds a call by its task", async () => {
      const store = await make();
      const call = storedCall({ taskId: "t1", expiresAt: 5 });
      await store.keep(call);
      await store.keep(storedCall({ key: "b", taskId: "t2" }));
      expect(await store.find(taskOf("t1"))).toEqual(call);
      expect(await store.find({ ...taskOf("t1"), server: "http://127.0.0.1:3001/mcp" })).toBeUndefined();
    });

    it("keeps a session for each server and generation, and gives it away once", async () => {
      const store = await make();
      const session = { server, generation: "2025-11-25", origin: "http://127.0.0.1:3000", id: "s1" };
      const kept = { ...session, capabilities: { roots: {} }, result: { protocolVersion: "2025-11-25" } };
      expect(await store.findSession(server, "2025-11-25")).toBeUndefined();
      expect(await store.dropSession(kept)).toBe(false);
      await store.keepSession({ ...kept, id: "s0" });
      await store.keepSession(kept);
      expect(await store.findSession(server, "2025-11-25")).toEqual(kept);
      expect(await store.findSession(server, "sep-1686")).toBeUndefined();
      expect(await store.dropSession({ ...kept, id: "s0" })).toBe(false);
      const dropped = await Promise.all([store.dropSession(kept), store.dropSession(kept)]);
      expect(dropped.toSorted()).toEqual([false, true]);
      expect(await store.findSession(server, "2025-11-25")).toBeUndefined();
    });

    it("knows whether a session has tasks", async () => {
      const store = await make();
      const origin = "http://127.0.0.1:3000";
      const session = { server, generation, origin, id: "s1", capabilities: {}, result: {} };
      const made = { sessionId: "s1", sessionOrigin: origin };
      await store.keep(storedCall({ key: "a", ...made }));
      await store.keep(
        storedCall({ key: "b", taskId: "t0", ...made, sessionOrigin: "http://127.0.0.1:3001" }),
      );
      await store.keep(storedCall({ key: "c", taskId: "t2", ...made, sessionId: "s2" }));
      expect(await store.usesSession(session)).toBe(false);
      await store.keep(storedCall({ key: "d", taskId: "t1", ...made }));
      expect(await store.usesSession(session)).toBe(true);
      await store.dropTask(taskOf("t1"));
      expect(await store.usesSession(session)).toBe(false);
    });

    it("tells calls of one key apart by server and generation", async () => {
      const store = await make();
      await store.keep(storedCall());
      await store.keep(storedCall({ server: "http://127.0.0.1:3001/mcp", startedAt: 1 }));
      await store.keep(storedCall({ generation: "2025-11-25", startedAt: 2 }));
      await store.drop(storedCall());
      expect(await callsOf(store)).toMatchObject([{ startedAt: 1 }, { startedAt: 2 }]);
    });

    it("keeps a call's task, whatever comes of the same call made again", async () => {
      const store = await make();
      expect(await store.keep(storedCall({ startedAt: 3 }))).toBe(true);
      expect(await store.keep(storedCall({ startedAt: 4 }))).toBe(false);
      expect(await callsOf(store)).toMatchObject([{ startedAt: 3 }]);
      await store.keep(storedCall({ taskId: "t1" }));
      expect(await callsOf(store)).toMatchObject([{ startedAt: 3, taskId: "t1" }]);
      await store.keep(storedCall({ startedAt: 5 }));
      expect(await callsOf(store)).toMatchObject([{ taskId: "t1" }]);
      await store.drop(storedCall());
      expect(await callsOf(store)).toMatchObject([{ taskId: "t1" }]);
      await store.dropTask(taskOf("t1"));
      expect(await callsOf(store)).toEqual([]);
    });

    it("drops a task with its calls and answers, and no other's", async () => {
      const store = await make();
      await store.keep(storedCall({ key: "a", taskId: "t1" }));
      await store.keep(storedCall({ key: "b", taskId: "t2" }));
      await store.keepAnswer(taskOf("t1"), "approve", accepted);
      await store.keepAnswer(taskOf("t2"), "approve", accepted);
      await store.dropTask(taskOf("t1"));
      expect(await callsOf(store)).toMatchObject([{ taskId: "t2" }]);
      expect(await store.answer(taskOf("t1"), "approve")).toBeUndefined();
      expect(await store.answer(taskOf("t2"), "approve")).toEqual(accepted);
    });

    it("keeps answers by question, whatever its name, also of tasks that no call of its own became", async () => {
      const store = await make();
      const names = ["approve", "../../approve", "__proto__", "Approve", "a/b\0", "x".repeat(5_000)];
      for (const [index, name] of names.entries()) {
        await store.keepAnswer(taskOf("../t"), name, { action: "accept", content: { index } });
      }
      const found = await Promise.all(names.map((name) => store.answer(taskOf("../t"), name)));
      expect(found).toEqual(names.map((_, index) => ({ action: "accept", content: { index } })));
      expect(await store.answer({ server, generation, taskId: "t" }, "approve")).toBeUndefined();
    });

    it("keeps what was said, not what became of the object", async () => {
      const store = await make();
      const args = { month: "2026-10" };
      await store.keep(storedCall({ args }));
      args.month = "2026-11";
      expect(await callsOf(store)).toMatchObject([{ args: { month: "2026-10" } }]);
    });
  });
}

import { describe, expect, test } from "vitest";
import { createRecord } from "../../src/task/create-record.ts";
import type { ContractContext } from "./store-contract.ts";
import { createQueued, createRunning, noon, sampleRequest } from "./sample-task.ts";

export function createContract(current: () => ContractContext): void {
  describe("create", () => {
    test("an acknowledged task can be read at once, whole", async () => {
      const { store } = current();
      const command = createRunning("a", { idempotencyKey: "i", statusMessage: "begun", principal: null });
      const record = createRecord(command);
      expect(await store.write(command)).toEqual({ ok: true, created: true, task: record });
      expect(await store.get("task-a")).toEqual(record);
      expect(await store.snapshot("task-a")).toEqual({ task: record, inputs: [], outcome: null });
      expect(await store.request("task-a")).toEqual(sampleRequest);
      expect(await store.journal("task-a")).toEqual([]);
    });

    test("nothing is there for an unknown id", async () => {
      const { store } = current();
      expect(await store.get("task-x")).toBeUndefined();
      expect(await store.snapshot("task-x")).toBeUndefined();
      expect(await store.request("task-x")).toBeUndefined();
      expect(await store.journal("task-x")).toEqual([]);
      expect(await store.journalEntry("task-x", "k")).toBeUndefined();
    });

    test("every member of a record comes back", async () => {
      const { store } = current();
      const first = createQueued("a", {
        expiry: { from: "terminal", ms: null },
        generation: "sep-1686",
        scope: "x",
      });
      const second = createQueued("b", { expiry: { from: "created", ms: 5 }, generation: "plain" });
      await store.write(first);
      await store.write(second);
      expect(await store.get("task-a")).toEqual(createRecord(first));
      expect(await store.get("task-b")).toEqual(createRecord(second));
    });

    test("what the caller does to its objects later changes nothing", async () => {
      const { store } = current();
      const capabilities: Record<string, unknown> = { roots: {} };
      const command = createQueued("a");
      await store.write({ ...command, request: { ...command.request, origin: { capabilities } } });
      capabilities["roots"] = "changed";
      expect(await store.request("task-a")).toMatchObject({ origin: { capabilities: { roots: {} } } });
    });

    test("the same call under the same idempotency key gives the first task", async () => {
      const { store } = current();
      await store.write(createRunning("a", { idempotencyKey: "i" }));
      await store.write({
        type: "update",
        now: noon,
        id: "task-a",
        token: "t1",
        changes: { statusMessage: "x" },
      });
      const again = await store.write(createRunning("b", { idempotencyKey: "i" }));
      expect(again).toEqual({ ok: true, created: false, task: await store.get("task-a") });
      expect(await store.get("task-b")).toBeUndefined();
    });

    test.each([
      ["other arguments", { requestHash: "other" }],
      ["another generation", { generation: "plain" as const }],
    ])("the same idempotency key with %s is a conflict", async (_, members) => {
      const { store } = current();
      await store.write(createQueued("a", { idempotencyKey: "i" }));
      const other = await store.write(createQueued("b", { idempotencyKey: "i", ...members }));
      expect(other).toEqual({ ok: false, reason: "conflict" });
      expect(await store.get("task-b")).toBeUndefined();
    });

    test("an idempotency key belongs to one principal, and callers without one share theirs", async () => {
      const { store } = current();
      const create = (name: string, principal: string | null) =>
        store.write(createQueued(name, { idempotencyKey: "i", principal }));
      expect(await create("a", "ann")).toMatchObject({ created: true });
      expect(await create("b", "bob")).toMatchObject({ created: true });
      expect(await create("c", null)).toMatchObject({ created: true });
      expect(await create("d", null)).toMatchObject({ created: false, task: { id: "task-c" } });
    });

    test("two creates of the same call at the same time make one task", async () => {
      const { store } = current();
      const [first, second] = await Promise.all([
        store.write(createQueued("a", { idempotencyKey: "i" })),
        store.write(createQueued("b", { idempotencyKey: "i" })),
      ]);
      expect(first).toMatchObject({ ok: true, created: true, task: { id: "task-a" } });
      expect(second).toMatchObject({ ok: true, created: false, task: { id: "task-a" } });
    });

    test("a wire id is unique in its generation and scope, and only there", async () => {
      const { store } = current();
      const create = (name: string, scope: string, generation: "sep-1686" | "plain") =>
        store.write(createQueued(name, { wireId: "mine", scope, generation }));
      expect(await create("a", "s1", "sep-1686")).toMatchObject({ created: true });
      expect(await create("b", "s1", "sep-1686")).toEqual({ ok: false, reason: "conflict" });
      expect(await create("c", "s2", "sep-1686")).toMatchObject({ created: true });
      expect(await create("d", "s1", "plain")).toMatchObject({ created: true });
      expect(await store.get("task-b")).toBeUndefined();
      expect(await store.request("task-b")).toBeUndefined();
    });

    test("a wire id does not run into the scope beside it", async () => {
      const { store } = current();
      await store.write(createQueued("a", { scope: "ab", wireId: "c" }));
      expect(await store.write(createQueued("b", { scope: "a", wireId: "bc" }))).toMatchObject({
        created: true,
      });
    });

    test("an id that is taken is a conflict, and the first task stays as it is", async () => {
      const { store } = current();
      await store.write(createQueued("a"));
      const other = await store.write(createQueued("a", { wireId: "other", tool: "other" }));
      expect(other).toEqual({ ok: false, reason: "conflict" });
      expect(await store.get("task-a")).toMatchObject({ tool: "publish", version: 1 });
    });
  });
}

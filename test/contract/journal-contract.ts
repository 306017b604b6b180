import { describe, expect, test } from "vitest";
import type { InputRequest } from "../../src/task/input.ts";
import type { ContractContext } from "./store-contract.ts";
import { createRunning, noon } from "./sample-task.ts";

const id = "task-a";

function input(key: string): InputRequest {
  return { key, method: "elicitation/create", params: `{"message":"${key}?"}` };
}

export function journalContract(current: () => ContractContext): void {
  const running = () => current().store.write(createRunning("a"));
  const step = (key: string, value: string | null = "1", token = "t1") =>
    current().store.write({ type: "record_step", now: noon + 1, id, token, key, value, error: null });
  const ask = (key: string) =>
    current().store.write({
      type: "open_input",
      now: noon + 2,
      id,
      token: "t1",
      input: input(key),
      requestHash: "h",
    });
  const answer = (...keys: string[]) =>
    current().store.write({
      type: "answer_inputs",
      now: noon + 3,
      id,
      answers: keys.map((key) => ({ key, value: `{"answered":"${key}"}` })),
    });

  describe("journal", () => {
    test("entries come back in the order of their first writes", async () => {
      await running();
      await step("z");
      await ask("m");
      await step("a", null);
      await answer("m");
      const { store } = current();
      expect((await store.journal(id)).map(({ key, kind }) => [key, kind])).toEqual([
        ["z", "step"],
        ["m", "input"],
        ["a", "step"],
      ]);
      expect(await store.journalEntry(id, "m")).toEqual({
        key: "m",
        kind: "input",
        method: "elicitation/create",
        request: '{"message":"m?"}',
        requestHash: "h",
        value: '{"answered":"m"}',
        error: null,
        doneAt: noon + 3,
      });
      expect(await store.journalEntry(id, "x")).toBeUndefined();
    });

    test("a step is recorded once, and the first value stays", async () => {
      await running();
      await step("k", "1");
      expect(await step("k", "2")).toEqual({ ok: false, reason: "duplicate" });
      expect(await current().store.journalEntry(id, "k")).toMatchObject({ value: "1" });
    });

    test("two records of one key at the same time: one wins", async () => {
      await running();
      const results = await Promise.all([step("k", "1"), step("k", "2")]);
      expect(results.map(({ ok }) => ok)).toEqual([true, false]);
      expect(await current().store.journal(id)).toHaveLength(1);
    });

    test("a stale token writes nothing", async () => {
      await running();
      expect(await step("k", "1", "t0")).toEqual({ ok: false, reason: "fenced" });
      expect(await current().store.journal(id)).toEqual([]);
      expect(await current().store.get(id)).toMatchObject({ version: 1 });
    });

    test("the same key in two tasks is two entries", async () => {
      await running();
      await current().store.write(createRunning("b"));
      await step("k", "1");
      const other = {
        type: "record_step",
        now: noon,
        id: "task-b",
        token: "t1",
        key: "k",
        value: "2",
      } as const;
      expect(await current().store.write({ ...other, error: null })).toMatchObject({ ok: true });
      expect(await current().store.journalEntry(id, "k")).toMatchObject({ value: "1" });
      expect(await current().store.journalEntry("task-b", "k")).toMatchObject({ value: "2" });
    });

    test("a snapshot shows the open inputs in the order in which they were asked", async () => {
      await running();
      for (const key of ["z", "m", "a"]) await ask(key);
      await step("k");
      await answer("m");
      const snapshot = await current().store.snapshot(id);
      expect(snapshot?.inputs).toEqual([input("z"), input("a")]);
      expect(snapshot?.task.openInputs).toBe(2);
    });

    test("answers to what is not open are ignored, and change nothing where none was taken", async () => {
      await running();
      await ask("m");
      expect(await answer("m", "x", "m")).toMatchObject({
        ok: true,
        accepted: ["m"],
        task: { openInputs: 0 },
      });
      const before = await current().store.get(id);
      expect(await answer("m")).toEqual({ ok: true, accepted: [], task: before });
      expect(await current().store.get(id)).toEqual(before);
    });

    test("a finished task shows no open inputs; its journal keeps the question", async () => {
      await running();
      await ask("m");
      await current().store.write({ type: "cancel", now: noon + 9, id });
      expect(await current().store.snapshot(id)).toMatchObject({ inputs: [], task: { openInputs: 0 } });
      expect(await current().store.journalEntry(id, "m")).toMatchObject({ doneAt: null });
    });

    test("an input needs no params of its own", async () => {
      await running();
      const roots: InputRequest = { key: "r", method: "roots/list", params: "{}" };
      await current().store.write({
        type: "open_input",
        now: noon,
        id,
        token: "t1",
        input: roots,
        requestHash: "h",
      });
      expect((await current().store.snapshot(id))?.inputs).toEqual([roots]);
    });
  });
}

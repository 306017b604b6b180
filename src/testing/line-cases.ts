import assert from "node:assert/strict";
import type { TaskStore } from "../store/store.ts";
import type { CommandResult } from "../task/command-result.ts";
import type { LineList, TaskLine } from "../task/task-line.ts";
import { assertMembers } from "./assert-members.ts";
import { createQueued, createRunning, noon } from "./sample-task.ts";
import { storeCases } from "./store-case.ts";
import { changesOf } from "./told-changes.ts";

const id = "task-a";

function line(list: LineList, seq: number, body = `{"n":${seq}}`): TaskLine {
  return { list, seq, at: noon + seq, step: seq % 2 === 0 ? "step" : "", place: seq - 1, body };
}

function append(
  store: TaskStore,
  lines: readonly TaskLine[],
  forget: readonly number[] = [],
  token = "t1",
): Promise<CommandResult<"append">> {
  return store.write({ type: "append", now: noon + 1, id, token, lines, forget });
}

const read = async (store: TaskStore, list: LineList, after = 0, limit = 99): Promise<readonly TaskLine[]> =>
  (await store.logs?.read(id, list, after, limit)) ?? [];

export const lineCases = storeCases("lines", {
  "lines of the log and the output are kept apart, by their numbers, and the record counts them": async ({
    store,
  }) => {
    if (store.logs === undefined) return;
    await store.write(createRunning("a"));
    const seen = changesOf(store);
    const [one, two, three] = [line("log", 1), line("output", 1, '{ "n":1.0 }'), line("log", 2)];
    assertMembers(await append(store, [one, two, three]), {
      ok: true,
      task: { logged: 2, outputs: 1, version: 2, state: "running" },
    });
    assert.deepEqual(seen, [{ id, version: 2 }]);
    assert.deepEqual(await read(store, "log"), [one, three]);
    assert.deepEqual(await read(store, "output"), [two]);
    assertMembers(await append(store, [line("output", 2)]), { task: { logged: 2, outputs: 2 } });
    assert.deepEqual(await read(store, "output", 1), [line("output", 2)]);
  },
  "a page begins after a number, and has no more lines than it may": async ({ store }) => {
    if (store.logs === undefined) return;
    await store.write(createRunning("a"));
    const lines = Array.from({ length: 12 }, (_, index) => line("log", index + 1));
    await append(store, lines);
    assert.deepEqual(await read(store, "log", 0, 3), lines.slice(0, 3));
    assert.deepEqual(await read(store, "log", 9, 2), lines.slice(9, 11));
    assert.deepEqual(await read(store, "log", 12), []);
  },
  "lines of the log are forgotten, and none of the output": async ({ store }) => {
    if (store.logs === undefined) return;
    await store.write(createRunning("a"));
    await append(store, [
      line("log", 1),
      line("log", 2),
      line("log", 3),
      line("output", 1),
      line("output", 2),
    ]);
    assertMembers(await append(store, [line("log", 4)], [1, 3, 9]), { task: { logged: 4, outputs: 2 } });
    assert.deepEqual(await read(store, "log"), [line("log", 2), line("log", 4)]);
    assert.deepEqual(await read(store, "output"), [line("output", 1), line("output", 2)]);
  },
  "a line that is appended once more under its number is there once": async ({ store }) => {
    if (store.logs === undefined) return;
    await store.write(createRunning("a"));
    await Promise.all([append(store, [line("log", 1)]), append(store, [line("log", 1), line("log", 2)])]);
    assertMembers(await store.get(id), { logged: 2 });
    assert.deepEqual(await read(store, "log"), [line("log", 1), line("log", 2)]);
  },
  "any text can be a line": async ({ store }) => {
    if (store.logs === undefined) return;
    await store.write(createRunning("a"));
    const odd = { ...line("log", 1), step: "\ud800 \u0000", body: '"\ud83d \u0000 \\u0000 \ufffe"' };
    await append(store, [odd]);
    assert.deepEqual(await read(store, "log"), [odd]);
  },
  "only the attempt that holds the task appends": async ({ store }) => {
    if (store.logs === undefined) return;
    await store.write(createRunning("a"));
    assert.deepEqual(await append(store, [line("log", 1)], [], "t2"), { ok: false, reason: "fenced" });
    await store.write(createQueued("b"));
    assert.deepEqual(await read(store, "log"), []);
    assertMembers(await store.get(id), { logged: 0, version: 1 });
  },
  "lines outlive the end of their task, and go with it": async ({ store }) => {
    if (store.logs === undefined) return;
    await store.write(createRunning("a"));
    await append(store, [line("log", 1), line("output", 1)]);
    const outcome = { kind: "result", body: "{}" } as const;
    await store.write({ type: "settle", now: noon + 2, id, token: "t1", outcome });
    assert.deepEqual(await append(store, [line("log", 2)]), { ok: false, reason: "finished" });
    assert.deepEqual(await read(store, "log"), [line("log", 1)]);
    await store.write({ type: "delete", now: noon + 3, id });
    assert.deepEqual([await read(store, "log"), await read(store, "output")], [[], []]);
    await store.write(createRunning("a"));
    assert.deepEqual(await read(store, "log"), []);
  },
});

import assert from "node:assert/strict";
import { createRunning, noon } from "./sample-task.ts";
import { storeCases } from "./store-case.ts";
import { wholeJournal } from "./whole-journal.ts";

/** For stores that keep nothing: keeping a part would be worse than nothing. */
export const forgettingCases = storeCases("reopen", {
  "a second store in the same place finds nothing": async ({ store, reopen }) => {
    await store.write(createRunning("a"));
    const step = { type: "record_step", now: noon, id: "task-a", token: "t1", key: "k" } as const;
    await store.write({ ...step, value: "1", error: null });
    const second = await reopen();
    assert.equal(await second.snapshot("task-a"), undefined);
    assert.equal(await second.request("task-a"), undefined);
    assert.deepEqual(await wholeJournal(second, "task-a"), []);
    assert.deepEqual(await second.unfinished("", 10), []);
    assert.equal(await second.nextSweepAt(noon), null);
  },
});

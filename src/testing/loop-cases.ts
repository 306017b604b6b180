import assert from "node:assert/strict";
import type { TaskCommand } from "../task/command.ts";
import { assertMembers, storeCases } from "./store-case.ts";
import {
  aHandler,
  callTool,
  changesOf,
  createRunning,
  noon,
  startTask,
  wholeJournal,
} from "./sample-task.ts";

const id = "task-a";

const held = { now: noon + 1, id, token: "t1" } as const;

function next(round: number, open: readonly string[] = []): TaskCommand<"next_round"> {
  return { ...held, type: "next_round", key: "loop", value: `{"at":${round}}`, round, open };
}

function step(key: string): TaskCommand<"record_step"> {
  return { ...held, type: "record_step", key, value: "1", error: null };
}

const keyOf = (name: string, round = 1): string => `["loop","round ${round}","${name}"]`;

const claim = { type: "claim", now: noon + 2, handlers: [aHandler], tokens: ["t1"] } as const;

export const loopCases = [
  ...storeCases("loops", {
    "the next round takes the place of all that the rounds had, and nothing else": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write(createRunning("b"));
      await store.write({ ...step(keyOf("s")), id: "task-b" });
      for (const key of ["before", keyOf("s"), '["loop","other"]', '["loops","round 1","s"]'])
        await store.write(step(key));
      await store.write({ ...held, type: "sleep", key: keyOf("asleep"), until: noon + 9 });
      await store.write({ ...step(keyOf("failed")), value: null, error: "{}" });
      await store.write({
        ...held,
        type: "retry_step",
        key: keyOf("again"),
        error: "{}",
        tries: 1,
        until: noon + 9,
      });
      const before = await wholeJournal(store, id);
      const seen = changesOf(store);
      const queued = { state: "queued", lane: "woken", runAfter: noon + 1, owner: null, token: null };
      assertMembers(await store.write(next(2)), { ok: true, task: { ...queued, version: 9 } });
      assert.deepEqual(seen, [{ id, version: 9 }]);
      const loop = {
        key: "loop",
        kind: "loop",
        tries: 2,
        value: '{"at":2}',
        begunAt: noon + 1,
        doneAt: null,
      };
      const kept = before.filter(({ key }) => !key.startsWith('["loop","round '));
      assert.equal(kept.length, 3);
      assertMembers(await wholeJournal(store, id), [...kept, loop]);
      assertMembers(await wholeJournal(store, "task-b"), [{ key: keyOf("s") }]);

      assertMembers(await store.write(claim), { tasks: [{ id, attempt: 2, failures: 0, crashes: 0 }] });
      await store.write(step(keyOf("s", 2)));
      assertMembers(await store.write({ ...next(3), now: noon + 5 }), { ok: true });
      const third = { ...loop, tries: 3, value: '{"at":3}' };
      assertMembers(await wholeJournal(store, id), [...kept, third]);
    },

    "a next round is the attempt's that holds the task, and the loop's alone": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write(step("loop"));
      assert.deepEqual(await store.write(next(2)), { ok: false, reason: "duplicate" });
      assert.deepEqual(await store.write({ ...next(2), token: "t0" }), { ok: false, reason: "fenced" });
      await store.write({ ...next(2), key: "other" });
      assert.deepEqual(await store.write(next(2)), { ok: false, reason: "fenced" });
      assert.deepEqual(await store.write(step("late")), { ok: false, reason: "fenced" });
    },

    "a next round closes what it names of its own, and keeps what else is open": async ({ store }) => {
      await store.write(createRunning("a"));
      const ask = (key: string): TaskCommand<"open_input"> => ({
        ...held,
        type: "open_input",
        input: { key, method: "roots/list", params: "{}" },
        requestHash: "h",
        deadlineAt: null,
      });
      const wait = { ...held, type: "wait_event", name: "e", requestHash: "h", deadlineAt: null } as const;
      await store.write(ask("outside"));
      await store.write(ask(keyOf("closed")));
      await store.write(ask(keyOf("kept")));
      await store.write({ ...wait, key: keyOf("wait") });
      await store.write({ ...callTool("a", "x"), key: keyOf("call") });
      await store.write({ ...callTool("a", "y"), key: keyOf("failed call") });
      await store.write(startTask("y"));
      const error = { kind: "error", body: "{}" } as const;
      await store.write({ type: "settle", now: noon, id: "task-y", token: "t1", outcome: error });
      assertMembers(await store.get("task-y"), { state: "settled" });

      const open = ["outside", keyOf("closed"), keyOf("wait"), keyOf("call"), keyOf("unknown")];
      assertMembers(await store.write(next(2, open)), { task: { openInputs: 2, openWaits: 0 } });
      const keys = (await wholeJournal(store, id)).map(({ key }) => key);
      assert.deepEqual(keys, ["outside", keyOf("kept"), "loop"]);
      assertMembers(await store.get("task-x"), { cancelRequestedAt: noon + 1 });
      assert.equal(await store.get("task-y"), undefined);

      // What comes late changes nothing.
      const late = { key: keyOf("closed"), value: "{}" };
      assertMembers(await store.write({ type: "answer_inputs", now: noon, id, answers: [late] }), {
        accepted: [],
      });
      const before = await store.get(id);
      await store.write({ type: "cancel", now: noon + 3, id: "task-x" });
      assert.deepEqual(await store.get(id), before);
      assertMembers(
        await store.write({
          type: "send_event",
          now: noon,
          id,
          name: "e",
          value: "1",
          dedupeId: null,
          limit: 9,
        }),
        { ended: null },
      );
    },
  }),
];

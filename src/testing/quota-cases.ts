import assert from "node:assert/strict";
import type { TaskCommand } from "../task/command.ts";
import type { NewTask } from "../task/new-task.ts";
import { resultOutcome } from "../task/outcome.ts";
import type { Allowance } from "../task/quota.ts";
import { createQueued, createRunning, noon } from "./sample-task.ts";
import { storeCases, type StoreUnderTest } from "./store-case.ts";

const any: Allowance = { unfinished: null, retained: null };

/** Creates a task if the quota has room for it, and returns whether it had. */
async function fits(
  { store }: StoreUnderTest,
  name: string,
  quota: { perPrincipal?: Partial<Allowance>; total?: Partial<Allowance> },
  members: Partial<NewTask> = {},
): Promise<boolean> {
  const command: TaskCommand<"create"> = {
    ...createRunning(name, members),
    quota: { perPrincipal: { ...any, ...quota.perPrincipal }, total: { ...any, ...quota.total } },
  };
  const result = await store.write(command);
  if (!result.ok) assert.deepEqual(result, { ok: false, reason: "quota" });
  assert.equal((await store.get(`task-${name}`)) !== undefined, result.ok);
  return result.ok;
}

const end = { type: "settle", now: noon, token: "t1", outcome: resultOutcome({ content: [] }) } as const;

export const quotaCases = storeCases("quota", {
  "a principal's unfinished tasks are counted, whatever their generation": async (under) => {
    const quota = { perPrincipal: { unfinished: 2 } };
    await under.store.write(createQueued("a", { generation: "2025-11-25" }));
    assert.equal(await fits(under, "b", quota), true);
    assert.equal(await fits(under, "c", quota), false);
    assert.equal(await fits(under, "c", quota, { principal: "bob" }), true);
    await under.store.write({ ...end, id: "task-b" });
    assert.equal(await fits(under, "d", quota), true);
  },

  "a cancelled task is a finished one": async (under) => {
    await under.store.write(createQueued("a"));
    await under.store.write({ type: "cancel", now: noon, id: "task-a" });
    assert.equal(await fits(under, "b", { perPrincipal: { unfinished: 1 } }), true);
    assert.equal(await fits(under, "c", { total: { unfinished: 1 } }), false);
  },

  "kept tasks count until they are deleted": async (under) => {
    const quota = { perPrincipal: { retained: 1 } };
    await under.store.write(createRunning("a"));
    await under.store.write({ ...end, id: "task-a" });
    assert.equal(await fits(under, "b", quota), false);
    await under.store.write({ type: "delete_expired", now: noon + 60_000, limit: 10 });
    assert.equal(await fits(under, "b", quota), true);
  },

  "the total counts everybody, and callers who are not told apart only there": async (under) => {
    const anonymous = { principal: null };
    assert.equal(await fits(under, "a", { perPrincipal: { unfinished: 0 } }, anonymous), true);
    assert.equal(await fits(under, "b", { total: { unfinished: 2 } }, anonymous), true);
    assert.equal(await fits(under, "c", { total: { unfinished: 2 } }), false);
    assert.equal(await fits(under, "c", { total: { retained: 2 } }), false);
    assert.equal(await fits(under, "c", { total: { retained: 3 } }), true);
  },

  "a call that is repeated under its idempotency key has its room already": async (under) => {
    const quota = { perPrincipal: { unfinished: 1 } };
    assert.equal(await fits(under, "a", quota, { idempotencyKey: "i" }), true);
    const again = {
      ...createRunning("b", { idempotencyKey: "i" }),
      quota: { perPrincipal: any, total: any },
    };
    const repeated = await under.store.write(again);
    assert.equal(repeated.ok && repeated.created, false);
    assert.equal(await fits(under, "c", quota), false);
  },

  "what was counted is still counted after a reopen": async (under) => {
    await under.store.write(createQueued("a"));
    const store = await under.reopen();
    const kept = (await store.get("task-a")) !== undefined;
    assert.equal(await fits({ ...under, store }, "b", { perPrincipal: { retained: 1 } }), !kept);
  },
});

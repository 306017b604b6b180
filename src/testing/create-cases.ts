import assert from "node:assert/strict";
import { randomBytes, randomInt } from "node:crypto";
import type { NewTask } from "../task/record.ts";
import { createRecord } from "../task/record-changes.ts";
import { assertMembers, storeCases, type StoreUnderTest } from "./store-case.ts";
import { createQueued, createRunning, noon, owner, sampleRequest, wholeJournal } from "./sample-task.ts";
import type { TaskCommand } from "../task/command.ts";
import { resultOutcome } from "../task/outcome.ts";
import type { Allowance } from "../task/queue.ts";

function otherCallUnderTheKey(members: Partial<NewTask>): (under: StoreUnderTest) => Promise<void> {
  return async ({ store }) => {
    await store.write(createQueued("a", { idempotencyKey: "i" }));
    const other = await store.write(createQueued("b", { idempotencyKey: "i", ...members }));
    assert.deepEqual(other, { ok: false, reason: "conflict" });
    assert.equal(await store.get("task-b"), undefined);
  };
}

export const createCases = storeCases("create", {
  "an acknowledged task can be read at once and in full": async ({ store }) => {
    const command = createRunning("a", { idempotencyKey: "i", statusMessage: "begun", principal: null });
    const record = createRecord(command, owner);
    assert.deepEqual(await store.write(command), { ok: true, created: true, task: record });
    assert.deepEqual(await store.get("task-a"), record);
    assert.deepEqual(await store.snapshot("task-a"), { task: record, inputs: [], outcome: null });
    assert.deepEqual(await store.request("task-a"), sampleRequest);
    assert.deepEqual(await wholeJournal(store, "task-a"), []);
  },

  "an unknown id returns nothing": async ({ store }) => {
    assert.equal(await store.get("task-x"), undefined);
    assert.equal(await store.snapshot("task-x"), undefined);
    assert.equal(await store.request("task-x"), undefined);
    assert.deepEqual(await wholeJournal(store, "task-x"), []);
    assert.equal(await store.journalEntry("task-x", "k"), undefined);
  },

  "every member of a record is stored": async ({ store }) => {
    const kept = { from: "terminal", ms: null } as const;
    const first = createQueued("a", { expiry: kept, generation: "sep-1686", scope: "x" });
    const second = createQueued("b", { expiry: { from: "created", ms: 5 }, generation: "plain" });
    await store.write(first);
    await store.write(second);
    assert.deepEqual(await store.get("task-a"), createRecord(first, owner));
    assert.deepEqual(await store.get("task-b"), createRecord(second, owner));
  },

  "a principal's tasks are found by a prefix of their idempotency keys, in key order": async ({ store }) => {
    const keys = ["call", "call#a", "call#b", "calling", "cal", 'call#"', "other"];
    for (const [index, idempotencyKey] of keys.entries()) {
      await store.write(createQueued(`a${index}`, { idempotencyKey }));
      await store.write(
        createQueued(`n${index}`, { idempotencyKey: `${idempotencyKey}#0`, principal: null }),
      );
    }
    await store.write(createQueued("b", { idempotencyKey: "call#c", principal: "bob" }));
    await store.write(createQueued("keyless"));
    const found = async (prefix: string, limit = 9): Promise<readonly string[]> =>
      (await store.withKeys("ann", prefix, limit)).map(({ key }) => key);
    assert.deepEqual(await found("call#"), ['call#"', "call#a", "call#b"]);
    assert.deepEqual(await found("call"), ["call", 'call#"', "call#a", "call#b", "calling"]);
    assert.deepEqual(await found("call", 2), ["call", 'call#"']);
    assert.deepEqual(await found("none"), []);
    assert.deepEqual(await store.withKeys(null, "oth", 9), [{ id: "task-n6", key: "other#0" }]);
    await store.write(createQueued("odd", { idempotencyKey: "none\u0000a" }));
    await store.write(createQueued("half", { idempotencyKey: "none\ud800" }));
    assert.deepEqual(await found("none"), ["none\u0000a", "none\ud800"]);
    assert.deepEqual(await found("none", 1), ["none\u0000a"]);
    assert.deepEqual(await found("none\u0000"), ["none\u0000a"]);
    await store.write({ type: "cancel", now: noon, id: "task-a1" });
    await store.write({ type: "release_key", now: noon, id: "task-a1" });
    assert.deepEqual(await found("call#"), ['call#"', "call#b"]);
    await store.write({ type: "cancel", now: noon, id: "task-a2" });
    await store.write({ type: "delete", now: noon, id: "task-a2" });
    assert.deepEqual(await found("call#"), ['call#"']);
  },

  "every read returns the scopes that a task needs": async ({ store }) => {
    const requiredScopes = ["reports:read", "urn:x/send"];
    const command = createRunning("a", { requiredScopes, idempotencyKey: "i" });
    await store.write(command);
    await store.write(createQueued("b", { idempotencyKey: "j" }));
    const record = createRecord(command, owner);
    assert.deepEqual(await store.get("task-a"), record);
    assert.deepEqual((await store.snapshot("task-a"))?.task, record);
    assertMembers(await store.write(createRunning("c", { idempotencyKey: "i" })), { task: record });
    const filter = { generation: record.generation, principal: record.principal };
    for (const listed of [await store.list(filter, null, 5, noon), await store.unfinished("", 5)]) {
      const scopes = new Map(listed.map((task) => [task.id, task.requiredScopes]));
      assert.deepEqual([scopes.get("task-a"), scopes.get("task-b")], [requiredScopes, []]);
    }
    const outcome = { kind: "result", body: "{}" } as const;
    await store.write({ type: "settle", now: noon, id: "task-a", token: "t1", outcome });
    assertMembers(await store.get("task-a"), { state: "settled", requiredScopes });
  },

  "later changes to the caller's objects have no effect": async ({ store }) => {
    const capabilities: Record<string, unknown> = { roots: {} };
    const command = createQueued("a");
    await store.write({ ...command, request: { ...command.request, origin: { capabilities } } });
    capabilities["roots"] = "changed";
    assertMembers(await store.request("task-a"), { origin: { capabilities: { roots: {} } } });
  },

  "the same call with the same idempotency key returns the first task": async ({ store }) => {
    await store.write(createRunning("a", { idempotencyKey: "i" }));
    const changes = { statusMessage: "x" };
    await store.write({ type: "update", now: noon, id: "task-a", token: "t1", changes });
    const again = await store.write(createRunning("b", { idempotencyKey: "i" }));
    assert.deepEqual(again, { ok: true, created: false, task: await store.get("task-a") });
    assert.equal(await store.get("task-b"), undefined);
  },

  "the same idempotency key with other arguments is a conflict": otherCallUnderTheKey({
    requestHash: "other",
  }),

  "the same idempotency key with another generation is a conflict": otherCallUnderTheKey({
    generation: "plain",
  }),

  "a task that gets another idempotency key is found by that one only": async ({ store }) => {
    await store.write(createRunning("a", { idempotencyKey: "i" }));
    const rekey = (before: string, key: string) =>
      store.write({ type: "rekey", now: noon, id: "task-a", before, key });
    assert.deepEqual(await rekey("other", "j"), { ok: false, reason: "state" });
    assertMembers(await rekey("i", "j"), { ok: true, task: { idempotencyKey: "j" } });
    assertMembers(await store.write(createRunning("b", { idempotencyKey: "j" })), {
      created: false,
      task: { id: "task-a" },
    });
    assertMembers(await store.write(createRunning("c", { idempotencyKey: "i" })), { created: true });
    await assert.rejects(rekey("j", "i"), { code: "store_refused" });
    assertMembers(await store.get("task-a"), { idempotencyKey: "j" });
  },

  "an idempotency key belongs to one principal; unidentified callers share theirs": async ({ store }) => {
    const create = (name: string, principal: string | null) =>
      store.write(createQueued(name, { idempotencyKey: "i", principal }));
    assertMembers(await create("a", "ann"), { created: true });
    assertMembers(await create("b", "bob"), { created: true });
    assertMembers(await create("c", null), { created: true });
    assertMembers(await create("d", null), { created: false, task: { id: "task-c" } });
  },

  "two concurrent creates of the same call make one task": async ({ store }) => {
    const [first, second] = await Promise.all([
      store.write(createQueued("a", { idempotencyKey: "i" })),
      store.write(createQueued("b", { idempotencyKey: "i" })),
    ]);
    assertMembers(first, { ok: true, created: true, task: { id: "task-a" } });
    assertMembers(second, { ok: true, created: false, task: { id: "task-a" } });
  },

  "a wire id is unique within its generation and scope only": async ({ store }) => {
    const create = (name: string, scope: string, generation: "sep-1686" | "plain") =>
      store.write(createQueued(name, { wireId: "mine", scope, generation }));
    assertMembers(await create("a", "s1", "sep-1686"), { created: true });
    assert.deepEqual(await create("b", "s1", "sep-1686"), { ok: false, reason: "taken" });
    assertMembers(await create("c", "s2", "sep-1686"), { created: true });
    assertMembers(await create("d", "s1", "plain"), { created: true });
    assert.equal(await store.get("task-b"), undefined);
    assert.equal(await store.request("task-b"), undefined);
  },

  "an id equal to another task's wire id is taken, and the reverse": async ({ store }) => {
    const taken = { ok: false, reason: "taken" };
    await store.write(createQueued("a", { wireId: "task-b" }));
    assert.deepEqual(await store.write(createQueued("b")), taken);
    await store.write(createQueued("c"));
    assert.deepEqual(await store.write(createQueued("d", { wireId: "task-c" })), taken);
  },

  "a wire id and its scope are compared separately": async ({ store }) => {
    await store.write(createQueued("a", { scope: "ab", wireId: "c" }));
    const other = await store.write(createQueued("b", { scope: "a", wireId: "bc" }));
    assertMembers(other, { created: true });
  },

  "a taken id is refused, and the first task does not change": async ({ store }) => {
    await store.write(createQueued("a"));
    const other = await store.write(createQueued("a", { wireId: "other", tool: "other" }));
    assert.deepEqual(other, { ok: false, reason: "taken" });
    assertMembers(await store.get("task-a"), { tool: "publish", version: 1 });
  },

  "a task is found by its wire id": async ({ store }) => {
    const wire = { generation: "plain", scope: "s\u0000", wireId: "mine" } as const;
    await store.write(createQueued("a", wire));
    assert.equal(await store.find(wire), "task-a");
    assert.equal(await store.find({ ...wire, scope: "s" }), undefined);
    assert.equal(await store.find({ ...wire, generation: "sep-1686" }), undefined);
    assert.equal(await store.find({ ...wire, wireId: "task-a" }), undefined);
  },

  "a wire id may have 1,024 bytes, however little they can be compressed": async ({ store }) => {
    const units = Array.from({ length: 341 }, () => randomInt(0x4e00, 0x9fff));
    const wire = {
      generation: "sep-1686",
      scope: "s".repeat(64),
      wireId: String.fromCharCode(...units),
    } as const;
    await store.write(createQueued("a", wire));
    assert.equal(await store.find(wire), "task-a");
  },

  "a task with names as long as they may be can be in every state, and one with longer names is not made":
    async ({ store }) => {
      const principal = randomBytes(500).toString("hex");
      const tool = randomBytes(250).toString("hex");
      await store.write(createRunning("a", { principal, tool, idempotencyKey: "i" }));
      const held = { now: noon, id: "task-a", token: "t1" } as const;
      assertMembers(await store.write({ type: "release", ...held }), { ok: true });
      const handlers = [{ method: "tools/call", tool }] as const;
      assertMembers(await store.write({ type: "claim", now: noon, handlers, tokens: ["t1"] }), { ok: true });
      const outcome = { kind: "result", body: "{}" } as const;
      assertMembers(await store.write({ type: "settle", ...held, outcome }), { ok: true });
      const [longer, named, other] = await Promise.allSettled([
        store.write(createQueued("b", { principal: `${principal}\u00e9` })),
        store.write(createQueued("c", { tool: `${tool}s` })),
        store.write(createQueued("d")),
      ]);
      for (const each of [longer, named])
        assertMembers(each, { status: "rejected", reason: { code: "too_large" } });
      assertMembers(other, { status: "fulfilled", value: { ok: true } });
    },

  "a finished task that releases its key is deleted at the given time or earlier": async ({ store }) => {
    const lives = { a: 30, b: 10, c: null };
    for (const [name, ms] of Object.entries(lives)) {
      const idempotencyKey = name === "a" ? name : null;
      await store.write(createQueued(name, { idempotencyKey, expiry: { from: "created", ms } }));
      await store.write({ type: "cancel", now: noon, id: `task-${name}` });
      await store.write({ type: "release_key", now: noon, id: `task-${name}`, deleteBy: noon + 20 });
    }
    assertMembers(await store.get("task-a"), { idempotencyKey: null, sweepAt: noon + 20 });
    assertMembers(await store.get("task-b"), { sweepAt: noon + 10 });
    assertMembers(await store.get("task-c"), { sweepAt: noon + 20 });
    assert.equal(await store.nextSweepAt(noon + 10), noon + 20);
    const sweep = { type: "delete_expired", now: noon + 20, limit: 9 } as const;
    assert.deepEqual(await store.write(sweep), { ok: true, deleted: ["task-b", "task-a", "task-c"] });
  },

  "a finished task can release its idempotency key, and only its version changes with it": async ({
    store,
  }) => {
    await store.write(createRunning("a", { idempotencyKey: "i" }));
    const release = { type: "release_key", now: noon, id: "task-a" } as const;
    assert.deepEqual(await store.write(release), { ok: false, reason: "state" });
    await store.write({ type: "cancel", now: noon, id: "task-a" });
    const before = await store.get("task-a");
    for (let i = 0; i < 2; i += 1) assert.deepEqual(await store.write(release), { ok: true });
    const version = (before?.version ?? 0) + 2;
    assert.deepEqual(await store.get("task-a"), { ...before, idempotencyKey: null, version });
    assertMembers(await store.write(createQueued("b", { idempotencyKey: "i" })), { created: true });
    const unknown = { ...release, id: "task-x" };
    assert.deepEqual(await store.write(unknown), { ok: false, reason: "unknown" });
  },
});

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
  "a principal's unfinished tasks count, whatever their generation": async (under) => {
    const quota = { perPrincipal: { unfinished: 2 } };
    await under.store.write(createQueued("a", { generation: "2025-11-25" }));
    assert.equal(await fits(under, "b", quota), true);
    assert.equal(await fits(under, "c", quota), false);
    assert.equal(await fits(under, "c", quota, { principal: "bob" }), true);
    await under.store.write({ ...end, id: "task-b" });
    assert.equal(await fits(under, "d", quota), true);
  },

  "a cancelled task counts as finished": async (under) => {
    await under.store.write(createQueued("a"));
    await under.store.write({ type: "cancel", now: noon, id: "task-a" });
    assert.equal(await fits(under, "b", { perPrincipal: { unfinished: 1 } }), true);
    assert.equal(await fits(under, "c", { total: { unfinished: 1 } }), false);
  },

  "retained tasks count until they are deleted": async (under) => {
    const quota = { perPrincipal: { retained: 1 } };
    await under.store.write(createRunning("a"));
    await under.store.write({ ...end, id: "task-a" });
    assert.equal(await fits(under, "b", quota), false);
    await under.store.write({ type: "delete_expired", now: noon + 60_000, limit: 10 });
    assert.equal(await fits(under, "b", quota), true);
  },

  "the total includes everyone; unidentified callers count only there": async (under) => {
    const anonymous = { principal: null };
    assert.equal(await fits(under, "a", { perPrincipal: { unfinished: 0 } }, anonymous), true);
    assert.equal(await fits(under, "b", { total: { unfinished: 2 } }, anonymous), true);
    assert.equal(await fits(under, "c", { total: { unfinished: 2 } }), false);
    assert.equal(await fits(under, "c", { total: { retained: 2 } }), false);
    assert.equal(await fits(under, "c", { total: { retained: 3 } }), true);
  },

  "a call repeated with its idempotency key needs no more room": async (under) => {
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

  "counts survive a reopen": async (under) => {
    await under.store.write(createQueued("a"));
    const store = await under.reopen();
    const kept = (await store.get("task-a")) !== undefined;
    assert.equal(await fits({ ...under, store }, "b", { perPrincipal: { retained: 1 } }), !kept);
  },
});

const id = "task-a";

export const orderCases = storeCases("order", {
  "concurrent writes take effect one after another, in the order of the calls": async ({ store }) => {
    const results = await Promise.all([
      store.write(createQueued("a")),
      store.write({ type: "start", now: noon, id, token: "t1" }),
      store.write({ type: "start", now: noon, id, token: "t2" }),
      store.write({ type: "cancel", now: noon, id }),
    ]);
    assertMembers(results, [
      { ok: true, task: { version: 1 } },
      { ok: true, task: { version: 2, token: "t1" } },
      { ok: false, reason: "state" },
      { ok: true, task: { version: 3, state: "cancelled" } },
    ]);
  },

  "a read after an acknowledgement shows the change, however many writers there are": async ({ store }) => {
    const readBack = async (name: string): Promise<void> => {
      await store.write(createQueued(name));
      for (let attempt = 1; attempt <= 10; attempt++) {
        const token = `t${attempt}`;
        await store.write({ type: "start", now: noon, id: `task-${name}`, token });
        assertMembers(await store.snapshot(`task-${name}`), { task: { state: "running", attempt, token } });
        await store.write({ type: "release", now: noon, id: `task-${name}`, token });
        assertMembers(await store.get(`task-${name}`), { state: "queued", attempt });
      }
    };
    await Promise.all(["a", "b", "c", "d", "e"].map(readBack));
  },
});

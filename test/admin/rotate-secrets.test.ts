import { memoryDatabase, memoryStore } from "holdfast/memory";
import { encryptedStore } from "holdfast/store";
import { describe, expect, it } from "vitest";
import { rotateSecrets } from "../../src/admin/rotate-secrets.ts";
import { deleteExpired } from "../../src/admin/store-care.ts";
import { openState, sealState } from "../../src/server/2026-07-28/mrtr.ts";
import { Secrets } from "../../src/runtime/secrets.ts";
import { HoldfastError } from "../../src/task/fault.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { FakeClock, rest } from "../../src/testing/clocks.ts";
import { untilUsedMs } from "../../src/task/secret.ts";
import { createQueued } from "../../src/testing/sample-task.ts";
import { InMemorySession } from "../kit/in-memory-session.ts";
import { type Message, text } from "../kit/messages.ts";
import { clockedServer, type ClockedServer } from "../server/plain/clocked-server.ts";

const hour = 3_600_000;
const timedOut = "Request timed out";

const idIn = (result: Message): string => (result as { content: [{ text: string }] }).content[0].text;

/** Two servers on one store, with a tool that waits for `end` and returns the id of its task, and an operator. */
async function shared(wrap: (store: TaskStore) => TaskStore = (store) => store) {
  const database = memoryDatabase();
  const clock = new FakeClock();
  const gate = Promise.withResolvers<void>();
  const ids: string[] = [];
  const start = (joinCalls?: boolean): Promise<ClockedServer> =>
    clockedServer(
      (tasks) =>
        tasks.tool("job", { ...(joinCalls !== undefined && { joinCalls }) }, async (_args, task) => {
          ids.push(task.id);
          await gate.promise;
          return text(task.id);
        }),
      { clock, store: wrap(memoryStore(database)), plain: "wait" },
    );
  const store = wrap(memoryStore(database));
  await store.open({ id: "operator", handlers: [] });
  /** Renewals come once a second. */
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 1_000) {
      await clock.advance(1_000);
      await rest();
    }
  };
  const services = { store, now: () => clock.now(), pause: pass };
  const begun = async (count: number): Promise<void> => {
    while (ids.length < count) await new Promise(setImmediate);
  };
  return { start, store, clock, services, ids, begun, end: gate.resolve, pass };
}

describe.each([
  ["in clear", undefined],
  ["encrypted", (store: TaskStore) => encryptedStore(store, { keys: [{ id: "k", key: Buffer.alloc(32) }] })],
] as const)("in a store %s", (_, wrap) => {
  it.each([true, undefined])("equal calls find one another throughout (joinCalls: %s)", async (joinCalls) => {
    const run = await shared(wrap);
    const [here, there] = [
      await InMemorySession.open((await run.start(joinCalls)).server),
      await InMemorySession.open((await run.start(joinCalls)).server),
    ];
    const first = here.call("job");
    await run.begun(1);
    const record = () => run.store.get(run.ids[0] ?? "");
    const before = await record();
    const { secrets, rekeyed, left } = await rotateSecrets(run.services, 1_000);
    expect({ secrets, rekeyed, left }).toEqual({ secrets: ["call-keys"], rekeyed: 1, left: [] });
    await run.pass(untilUsedMs); // the earlier version is over
    expect((await record())?.idempotencyKey).not.toBe(before?.idempotencyKey);
    if (joinCalls !== true) here.notify("notifications/cancelled", { requestId: first, reason: timedOut });
    await rest();
    const second = there.call("job");
    await rest();
    run.end();
    expect(idIn(await there.result(second))).toBe(run.ids[0]);
    expect(run.ids).toHaveLength(1);
  });

  it("a server that has not learned yet of a version that alone counts makes tasks that equal calls find", async () => {
    const run = await shared(wrap);
    const [here, there] = [
      await InMemorySession.open((await run.start(true)).server),
      await InMemorySession.open((await run.start(true)).server),
    ];
    here.call("job", { n: 1 });
    await run.begun(1);
    let first: ReturnType<typeof here.call> | undefined;
    const pause = async (ms: number): Promise<void> => {
      first = here.call("job", { n: 2 });
      await run.begun(2);
      await run.pass(ms);
    };
    const { rekeyed, left } = await rotateSecrets({ ...run.services, pause }, 0);
    expect({ rekeyed, left }).toEqual({ rekeyed: 2, left: [] });
    const second = there.call("job", { n: 2 });
    await rest();
    run.end();
    expect(first).toBeDefined();
    expect(idIn(await there.result(second))).toBe(run.ids[1]);
    expect(run.ids).toHaveLength(2);
  });

  it("a call joins a task that has a key of the earlier version", async () => {
    const run = await shared(wrap);
    const [here, there] = [
      await InMemorySession.open((await run.start(true)).server),
      await InMemorySession.open((await run.start(true)).server),
    ];
    const first = here.call("job");
    await run.begun(1);
    // As if the operator's command had been stopped before it came to the keys.
    const stopped = { ...run.services, pause: () => Promise.reject(new Error("stopped")) };
    await expect(rotateSecrets(stopped, hour)).rejects.toThrow("stopped");
    await run.pass(untilUsedMs);
    const second = there.call("job");
    await rest();
    run.end();
    expect([idIn(await here.result(first)), idIn(await there.result(second))]).toEqual([
      run.ids[0],
      run.ids[0],
    ]);
    expect(run.ids).toHaveLength(1);
  });

  it("what was sealed before is opened for the time that was said, and not after it", async () => {
    const run = await shared(wrap);
    const { clock } = run;
    const of = new Secrets({ store: run.store, clock });
    const sealer = { clock, secret: of.get.bind(of) };
    const sealed = await sealState(sealer, ["call"], { a: 1 });
    const { acceptedUntil } = await rotateSecrets(run.services, hour / 2);
    await run.pass(untilUsedMs);
    await of.refresh(true);
    const between = await sealState(sealer, ["call"], { b: 1 });
    for (const state of [sealed, between]) await openState(sealer, ["call"], state);
    await run.pass((acceptedUntil ?? 0) - clock.now());
    expect(await openState(sealer, ["call"], between)).toEqual({ b: 1 });
    await expect(openState(sealer, ["call"], sealed)).rejects.toMatchObject({ code: "invalid_params" });
    // No server deleted the earlier version.
    const stored = async () =>
      (
        await run.store.write<"keep_secret">({
          type: "keep_secret",
          now: clock.now(),
          name: "request-state",
          value: null,
        })
      ).value;
    expect((await stored())?.length).toBeGreaterThan(100);
    await deleteExpired(run.store, clock.now());
    expect((await stored())?.length).toBeLessThan(100);
  });
});

it("a version that a server could not read yet is read at its next renewal", async () => {
  const run = await shared();
  const { clock, store } = run;
  let isAway = false;
  const write: TaskStore["write"] = (command) =>
    isAway ? Promise.reject(new HoldfastError("store_failed", "It is away.")) : store.write(command);
  const secrets = new Secrets({ store: { ...store, write }, clock });
  const secret = await secrets.get("request-state");
  const before = secret.accepted;
  await rotateSecrets(run.services, hour);
  isAway = true;
  await expect(secrets.refresh(true)).rejects.toMatchObject({ code: "store_failed" });
  isAway = false;
  await secrets.refresh(false);
  expect([before.length, secret.accepted.length]).toEqual([1, 2]);
});

it("says which tasks keep their keys because they cannot be read", async () => {
  const run = await shared();
  const server = await run.start();
  (await InMemorySession.open(server.server)).call("job");
  await run.begun(1);
  const { idempotencyKey } = (await run.store.get(run.ids[0] ?? "")) ?? {};
  await run.store.write(createQueued("own", { idempotencyKey: "k".repeat(30) }));
  const request = run.store.request.bind(run.store);
  run.store.request = async (id) => {
    if (id !== run.ids[0]) return request(id);
    throw new HoldfastError("task_unreadable", "It is damaged.");
  };
  expect(await rotateSecrets(run.services, 0)).toEqual({
    secrets: ["call-keys"],
    acceptedUntil: null,
    rekeyed: 0,
    left: [run.ids[0]],
  });
  expect((await run.store.get(run.ids[0] ?? ""))?.idempotencyKey).toBe(idempotencyKey);
  expect((await run.store.get("task-own"))?.idempotencyKey).toBe("k".repeat(30));
});

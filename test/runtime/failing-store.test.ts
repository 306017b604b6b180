import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../src/task/fault.ts";
import { isTerminal } from "../../src/task/outcome.ts";
import { bodyOf, Process, text, type Handler, type Setup } from "./harness.ts";
import { SlotGauge } from "./slot-gauge.ts";
import { Failing, storeFailed, type StoreCall } from "./watched-store.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const never = new Promise<never>(() => undefined);
const untilAborted: Handler = (_, task) =>
  new Promise((_resolve, reject) => {
    task.signal.throwIfAborted();
    task.signal.addEventListener("abort", () => reject(task.signal.reason as Error));
  });

/** Makes every call of the store that an attempt can make. */
const everything: Handler = async (_, task) => {
  await task.status("begun");
  await task.step("works", () => 1);
  await task.step("breaks", () => Promise.reject(new Error("broken"))).catch(() => undefined);
  await task.elicit("unanswered", question, { timeoutMs: 1_000 }).catch(() => undefined);
  await task.sleep("sleep", 1_000);
  return text((await task.elicit("answered", question)).action);
};

const inCommand: StoreCall[] = [
  ...(["create", "claim", "mark", "record_step", "open_input", "close_wait", "sleep", "update"] as const),
  ...(["answer_inputs", "settle", "request_cancel", "cancel", "fail", "expire", "delete_expired"] as const),
  ...(["reclaim", "release", "renew", "hasClaimable"] as const),
];
const inRead: StoreCall[] = [
  ...([
    "get",
    "snapshot",
    "request",
    "journal",
    "journalEnds",
    "journalEntry",
    "orphanedHandlers",
    "due",
    "nextSweepAt",
  ] as const),
];

/** As a caller who calls again when the server says that it failed. */
async function persistently<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== "store_failed") throw error;
    }
  }
}

/** As a supervisor that starts a server again which did not come up. */
async function up(starting: () => Promise<Process>): Promise<Process> {
  return persistently(starting);
}

/** Moves time on until `work` is done. */
async function inTime<T>({ clock }: Process, work: Promise<T>): Promise<T> {
  let done = false;
  const end = (): boolean => (done = true);
  work.then(end, end);
  for (let second = 0; second < 600 && !done; second++) await clock.advance(1_000);
  return work;
}

/** Resolves once every task is over, or deleted as its time was; answers whatever is asked meanwhile. */
async function allOver(process: Process, ids: readonly string[]): Promise<void> {
  for (let second = 0; second < 600; second++) {
    const found = await Promise.all(ids.map((id) => process.store.snapshot(id)));
    if (found.every((each) => each === undefined || isTerminal(each.task.state))) return;
    for (const each of found) {
      if (!each?.inputs.some(({ key }) => key === "answered")) continue;
      await persistently(() => process.answer(each.task.id, "answered", { action: "accept", content: {} }));
    }
    await process.clock.advance(1_000);
  }
  const left = await process.store.unfinished("", 10);
  throw new Error(`not over: ${left.map(({ tool, state }) => `${tool} ${state}`).join()}`);
}

describe("a store that fails twice", () => {
  it.each([...inCommand, ...inRead])("at %s loses no task, no slot and no rejection", async (call) => {
    const gauge = new SlotGauge();
    const failing = new Failing(call, 2);
    const setup = (tools: Setup["tools"]): Setup => ({
      tools: {
        everything,
        gauge: gauge.handler,
        short: { config: { ttlMs: 2_000 }, handler: untilAborted },
        waits: untilAborted,
        ...tools,
      },
      options: {
        concurrency: 3,
        cancelGraceMs: 1_000,
        unregisteredGraceMs: 1_000,
        maxBlockedMs: 0,
        expiredVisibleMs: 1_000,
      },
      before: failing.before,
    });
    const again = { onCrash: "resume" as const };
    const ids: string[] = [];
    const accept = async (process: Process, tool: string): Promise<string> => {
      const id = await persistently(() => process.callId(tool));
      ids.push(id);
      return id;
    };

    const first = await up(() => Process.started(setup({ gone: () => never })));
    const running = await accept(first, "waits");
    await accept(first, "short");
    await accept(first, "everything");
    const queued = await accept(first, "waits");
    for (const id of [running, queued]) await persistently(() => first.cancel(id));
    await persistently(() => first.get(running));
    await accept(first, "everything");
    await allOver(first, ids);
    for (const tool of ["gone", "everything", "waits"]) await accept(first, tool);
    await first.until(ids.at(-2) ?? "", ({ task }) => task.journalled).catch(() => undefined);
    await persistently(() => first.cancel(ids.at(-1) ?? ""));

    const tools = { again: { config: again, handler: (() => never) as Handler } };
    const second = await up(() => first.crash(setup(tools)));
    await accept(second, "everything");
    const stuck = await accept(second, "again");
    await second.clock.advance(1_000);
    const ends: Setup["tools"] = { again: { config: again, handler: () => text("ended") } };
    const stopping = second.restart(setup(ends));
    const third = await inTime(second, stopping).catch(() => up(() => second.restart(setup(ends))));

    await allOver(third, ids);
    expect(bodyOf((await third.store.snapshot(stuck)) ?? (await third.get(stuck)))).toEqual(text("ended"));
    expect(failing.hits).toBe(2);
    expect(await gauge.free(third, 3)).toBe(3);
    for (const { errors } of [first, second, third]) {
      expect(errors.filter((error) => String(error) !== String(storeFailed()))).toEqual([]);
    }
  });
});

it("an answer that cannot be read at first reaches its handler all the same", async () => {
  const failing = new Failing("journalEntry", 2);
  const asks: Handler = async (_, task) => text((await task.elicit("q", question)).action);
  let judged = false;
  const process = await Process.started({
    tools: { asks },
    before: (call, about) => {
      if (call === "answer_inputs") judged = true;
      return judged ? failing.before(call, about) : undefined;
    },
  });
  const id = await process.callId("asks");
  await process.asked(id);
  await process.answer(id, "q", { action: "accept", content: {} });
  await process.clock.advance(60_000);
  expect(bodyOf(await process.ended(id))).toEqual(text("accept"));
  expect(failing.hits).toBe(2);
});

it("a stop drops a handler whose replay the store does not answer, and the next start goes on with it", async () => {
  const config = { onCrash: "resume" as const };
  const ends: unknown[] = [];
  const work = (hangs: boolean): Setup["tools"] => ({
    work: {
      config,
      handler: async (_, task) => {
        const value = await task.step("s", () => "first").catch((error: unknown) => ends.push(error));
        if (hangs) await never;
        return text(String(value));
      },
    },
  });
  const first = await Process.started({ tools: work(true) });
  const id = await first.callId("work");
  await first.journalHas(id, "s");
  const failing = new Failing("journalEnds", Number.POSITIVE_INFINITY);
  const second = await first.crash({ tools: work(false), before: failing.before });
  await second.clock.advance(60_000);
  expect(failing.hits).toBeGreaterThan(1);
  const third = await inTime(second, second.restart({ tools: work(false) }));
  expect(bodyOf(await third.ended(id))).toEqual(text("first"));
  expect(ends).toEqual([]);
});

it("many tasks whose end of life cannot be written at first are over when it can be", async () => {
  const failing = new Failing("expire", 2_000);
  const process = await Process.started({
    tools: { hangs: () => never },
    options: { ttlMs: 1_000, concurrency: 1 },
    before: failing.before,
  });
  const ids = await Promise.all(Array.from({ length: 250 }, () => process.callId("hangs")));
  await process.clock.advance(1_000);
  await process.clock.advance(24 * 3_600_000);
  for (const id of ids) expect((await process.store.get(id))?.state ?? "deleted").not.toBe("running");
  expect(await process.store.unfinished("", 10)).toEqual([]);
});

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { latestTime } from "../../src/task/time.ts";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, nobody, Process, text, type Handler, type Setup } from "./harness.ts";
import { Held } from "./watched-store.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: {} };
const minute = 60_000;
const parked = { state: "queued", waiting: true, lane: null, token: null } as const;

const asks: Handler = async (_, task) => {
  const { action } = await task.elicit("q", question);
  return text(`${action} in attempt ${task.attempt}`);
};

/** Every frame is dropped as soon as its handler waits. */
function dropping(tools: Setup["tools"], more: Partial<Setup> = {}): Setup {
  return { ...more, tools, options: { maxParkedFrames: 0, ...more.options } };
}

async function untilParked(process: Process, id: string): Promise<void> {
  await process.until(id, ({ task }) => task.state === "queued" && task.waiting);
}

describe("after a restart", () => {
  it.each(["crash", "restart"] as const)(
    "by a %s, a task that waits runs when it is answered",
    async (how) => {
      const first = await Process.started({ tools: { asks } });
      const id = await first.callId("asks");
      await first.until(id, ({ task }) => task.waiting);
      const second = await first[how]({ tools: { asks } });
      await second.clock.advance(minute);
      expect((await second.get(id)).task).toMatchObject({ ...parked, attempt: 1, runAfter: latestTime });
      expect((await second.get(id)).inputs).toHaveLength(1);
      await second.answer(id, "q", yes);
      expect(bodyOf(await second.ended(id))).toEqual(text("accept in attempt 2"));
    },
  );

  it("a question that nobody answered ends at its deadline", async () => {
    const late: Handler = async (_, task) => {
      await task.elicit("q", question, { timeoutMs: 5_000 }).catch(() => undefined);
      return text(`late in attempt ${task.attempt}`);
    };
    const first = await Process.started({ tools: { late } });
    const id = await first.callId("late");
    await first.until(id, ({ task }) => task.waiting);
    const second = await first.crash({ tools: { late } });
    await second.clock.advance(4_999);
    expect((await second.get(id)).task).toMatchObject({ ...parked, attempt: 1 });
    await second.clock.advance(1);
    expect(bodyOf(await second.ended(id))).toEqual(text("late in attempt 2"));
  });

  it.each([{ park: false }, { onCrash: "resume" as const, park: false }])(
    "a tool that is not parked runs again at once (%o)",
    async (config) => {
      const tools = { asks: { config, handler: asks } };
      const first = await Process.started(dropping(tools));
      const id = await first.callId("asks");
      await first.until(id, ({ task }) => task.waiting);
      expect((await first.get(id)).task).toMatchObject({ state: "running", runAfter: null });
      const second = await first.crash(dropping(tools));
      await second.until(id, ({ task }) => task.attempt === 2 && task.waiting);
    },
  );

  it("a tool that must not run again fails, as ever", async () => {
    const tools = { asks: { config: { onCrash: "fail" as const }, handler: asks } };
    const first = await Process.started(dropping(tools));
    const id = await first.callId("asks");
    await first.until(id, ({ task }) => task.waiting);
    const second = await first.crash(dropping(tools));
    expect(bodyOf(await second.ended(id))).toMatchObject({ code: -32603 });
  });
});

describe("a frame that is dropped", () => {
  it("writes nothing, throws nothing, and its task goes on when it is answered", async () => {
    const seen: string[] = [];
    const gate = Promise.withResolvers<void>();
    const handler: Handler = async (_, task) => {
      const { attempt } = task;
      const note = (what: string): void => void seen.push(`${what} ${attempt}`);
      task.signal.addEventListener("abort", () => note("aborted"));
      const own = gate.promise.then(() => task.step(`own ${attempt}`, () => note("own")));
      own.catch(() => undefined); // the handler may have ended
      try {
        await task.elicit("q", question);
        note("answered");
      } catch {
        note("threw");
      } finally {
        note("finally");
      }
      return text("done");
    };
    const process = await Process.started(dropping({ handler }));
    const id = await process.callId("handler");
    await untilParked(process, id);
    gate.resolve();
    for (let round = 0; round < 20; round++) await rest();
    expect((await process.get(id)).task).toMatchObject(parked);
    await process.answer(id, "q", yes);
    expect(bodyOf(await process.ended(id))).toEqual(text("done"));
    expect(seen).toEqual(expect.arrayContaining(["answered 2", "finally 2"]));
    expect(seen.filter((what) => what.endsWith(" 1"))).toEqual([]);
    expect(process.errors).toEqual([]);
  });

  it("goes on with nothing that the journal has", async () => {
    const seen: number[] = [];
    const gate = Promise.withResolvers<void>();
    const handler: Handler = async (_, task) => {
      const answers = ["q", "r", "s"].map((key) => task.elicit(key, question));
      if (task.attempt === 2) await gate.promise;
      await task.step("step", () => 1);
      seen.push(task.attempt);
      await Promise.all(answers);
      return text("done");
    };
    const process = await Process.started(dropping({ handler }));
    const id = await process.callId("handler");
    await untilParked(process, id);
    await process.answer(id, "q", yes);
    await process.until(id, ({ task }) => task.state === "queued" && task.attempt === 2);
    gate.resolve();
    for (let round = 0; round < 20; round++) await rest();
    await process.answer(id, "r", yes);
    await process.answer(id, "s", yes);
    await process.ended(id);
    expect(seen).not.toContain(2);
  });

  it("is dropped when more wait than may, the oldest first, and after ten minutes", async () => {
    const process = await Process.started({ tools: { asks }, options: { maxParkedFrames: 2 } });
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) {
      ids.push(await process.callId("asks"));
      await process.until(ids[n] ?? "", ({ task }) => task.waiting);
      await process.clock.advance(minute);
    }
    const states = async (): Promise<string[]> =>
      Promise.all(ids.map(async (id) => (await process.get(id)).task.state));
    expect(await states()).toEqual(["queued", "running", "running"]);
    await process.clock.advance(8 * minute);
    expect(await states()).toEqual(["queued", "queued", "running"]);
    await process.clock.advance(minute);
    expect(await states()).toEqual(["queued", "queued", "queued"]);
    for (const id of ids) {
      await process.answer(id, "q", yes);
      await process.ended(id);
    }
  });

  it("goes on at its deadline, without a timer of its own", async () => {
    const naps: Handler = async (_, task) => {
      for (let n = 0; n < 3; n++) await task.sleep(["nap", n], 5_000);
      return text(`woke in attempt ${task.attempt}`);
    };
    const process = await Process.started(dropping({ naps }));
    const id = await process.callId("naps");
    for (let n = 0; n < 3; n++) {
      await untilParked(process, id);
      await process.clock.advance(5_000);
    }
    expect(bodyOf(await process.ended(id))).toEqual(text("woke in attempt 4"));
  });

  it("holds no answer up that comes while its task is given back", async () => {
    const parking = new Held("park");
    const process = await Process.started(dropping({ asks }, { before: parking.before }));
    const id = await process.callId("asks");
    await parking.reached;
    await process.answer(id, "q", yes);
    await rest();
    expect((await process.get(id)).task.state).toBe("running");
    parking.open();
    expect(bodyOf(await process.ended(id))).toEqual(text("accept in attempt 2"));
  });

  it("leaves nothing in memory", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const frames: WeakRef<object>[] = [];
    const waits: Handler = async (_, task) => {
      const held = { task };
      frames.push(new WeakRef(held));
      await Promise.race([
        task.elicit("q", question, { timeoutMs: 9 * minute }),
        task.sleep("s", 8 * minute),
      ]);
      return text(held.task.id);
    };
    const process = await Process.started(dropping({ waits }));
    const id = await process.callId("waits");
    await untilParked(process, id);
    for (let round = 0; round < 50 && frames[0]?.deref() !== undefined; round++) {
      await rest();
      collect();
    }
    expect(frames).toHaveLength(1);
    expect(frames[0]?.deref()).toBeUndefined();
    await process.answer(id, "q", yes);
    await process.ended(id);
  });

  it("finds the credentials of its call when it goes on", async () => {
    const uses: Handler = async (_, task) => {
      await task.elicit("q", question);
      return text(String(await task.credentials()));
    };
    const process = await Process.started(dropping({ uses }));
    const id = await process.callId("uses", { credentials: "token" });
    await untilParked(process, id);
    await process.answer(id, "q", yes);
    expect(bodyOf(await process.ended(id))).toEqual(text("token"));
  });
});

describe("a cancel of a parked task", () => {
  /** Notes what a later run sees of the cancel. */
  function cleaning(seen: string[]): Handler {
    return async (_, task: TaskContext) => {
      const job = await task.step("start", () => "job-1");
      try {
        return text((await task.elicit("q", question)).action);
      } catch (error) {
        seen.push(`stop ${job} in ${task.attempt}, aborted: ${task.signal.aborted}`);
        throw error;
      }
    };
  }

  it("runs it once more with its signal aborted, so that it can stop what it started", async () => {
    const seen: string[] = [];
    const process = await Process.started(dropping({ job: cleaning(seen) }));
    const id = await process.callId("job");
    await untilParked(process, id);
    await process.cancel(id);
    expect((await process.ended(id)).task.state).toBe("cancelled");
    expect(seen).toEqual(["stop job-1 in 2, aborted: true"]);
  });

  it("that ends it at once tells its handler all the same, of which nothing is stored", async () => {
    const seen: string[] = [];
    const process = await Process.started(dropping({ job: cleaning(seen) }));
    const id = await process.callId("job");
    await untilParked(process, id);
    const { task } = await process.runtime.cancelNow(id, nobody);
    expect(task.state).toBe("cancelled");
    for (let round = 0; round < 20; round++) await rest();
    expect(seen).toEqual(["stop job-1 in 2, aborted: true"]);
    expect((await process.get(id)).task).toEqual(task);
    expect(process.errors).toEqual([]);
  });

  it("that ends it at once tells its handler while it is about to run again, too", async () => {
    const seen: string[] = [];
    const asksTwice: Handler = async (_, task) => {
      await task.elicit("q", question);
      await task.elicit("r", question).catch(() => seen.push(`told in ${task.attempt}`));
      return text("done");
    };
    const loading = new Held("journal");
    const first = await Process.started(dropping({ asksTwice }));
    const id = await first.callId("asksTwice");
    await untilParked(first, id);
    const second = await first.crash(dropping({ asksTwice }, { before: loading.before }));
    await second.answer(id, "q", yes);
    await loading.reached;
    await second.runtime.cancelNow(id, nobody);
    loading.open();
    for (let round = 0; round < 20; round++) await rest();
    expect(seen).toEqual(["told in 3"]);
    expect(second.errors).toEqual([]);
  });

  it("by a caller who left and did not come back tells its handler too", async () => {
    const seen: string[] = [];
    const process = await Process.started(dropping({ job: cleaning(seen) }));
    const id = await process.callId("job", { awaited: true });
    await untilParked(process, id);
    const cancelBy = process.clock.now() + minute;
    await process.runtime.leave(id, nobody, { stays: false, promised: false, cancelBy });
    await process.clock.advance(minute);
    expect((await process.ended(id)).task.state).toBe("cancelled");
    for (let round = 0; round < 20; round++) await rest();
    expect(seen).toEqual(["stop job-1 in 2, aborted: true"]);
  });

  it("ends it after the grace in any case", async () => {
    const hangs: Handler = async (_, task) => {
      await task.elicit("q", question).catch(() => new Promise(() => undefined));
      return text("never");
    };
    const process = await Process.started(dropping({ hangs }));
    const id = await process.callId("hangs");
    await untilParked(process, id);
    await process.cancel(id);
    await process.until(id, ({ task }) => task.state === "running");
    await process.clock.advance(5_000);
    expect((await process.ended(id)).task.state).toBe("cancelled");
  });

  it("ends it where no process has its tool", async () => {
    const first = await Process.started(dropping({ asks }));
    const id = await first.callId("asks");
    await untilParked(first, id);
    const second = await first.crash({ tools: {} });
    await second.cancel(id);
    await second.clock.advance(5_000);
    expect((await second.ended(id)).task.state).toBe("cancelled");
  });
});

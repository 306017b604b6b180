import { describe, expect, it } from "vitest";
import { wholeJournal } from "../../src/testing/sample-task.ts";
import type { TimeSpan } from "../../src/task/time.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";

const day = 24 * 3_600_000;
const never = new Promise<never>(() => undefined);
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: {} };

const nap =
  (time: TimeSpan | Date): Handler =>
  async (_, task) => {
    await task.sleep("nap", time);
    return text(`woke in attempt ${task.attempt}`);
  };

describe("sleep", () => {
  it("wakes at its time and not before, and needs no slot meanwhile", async () => {
    const process = await Process.started({
      tools: { nap: nap(5_000), hello: () => text("hi") },
      options: { concurrency: 1 },
    });
    const id = await process.callId("nap");
    await process.clock.advance(4_999);
    expect((await process.get(id)).task.state).toBe("running");
    await process.ended(await process.callId("hello"));
    await process.clock.advance(1);
    expect(bodyOf(await process.ended(id))).toEqual(text("woke in attempt 1"));
  });

  it("of thirty days lasts thirty days, through restarts and crashes", async () => {
    const setup = { tools: { nap: nap(30 * day) }, options: { ttlMs: 60 * day } };
    const first = await Process.started(setup);
    const id = await first.callId("nap");
    await first.until(id, ({ task }) => task.waiting);
    await first.clock.advance(day / 24);
    const second = await first.restart(setup);
    second.clock.jump(28 * day);
    const third = await second.crash(setup);
    await third.clock.advance(day / 24);
    expect((await third.get(id)).task).toMatchObject({ state: "queued", waiting: true, crashes: 0 });
    third.clock.suspend(2 * day - day / 12);
    await third.clock.advance(60_000);
    expect(bodyOf(await third.ended(id))).toEqual(text("woke in attempt 2"));
  });

  it("that ended while nobody ran is over at once", async () => {
    const first = await Process.started({ tools: { nap: nap(5_000) } });
    const id = await first.callId("nap");
    await first.until(id, ({ task }) => task.waiting);
    first.clock.jump(6_000);
    const second = await first.crash({ tools: { nap: nap(5_000) } });
    await second.clock.advance(0);
    expect(bodyOf(await second.ended(id))).toEqual(text("woke in attempt 2"));
  });

  it("ends with a cancel", async () => {
    const process = await Process.started({ tools: { nap: nap(5_000) } });
    const id = await process.callId("nap");
    await process.until(id, ({ task }) => task.waiting);
    await process.cancel(id);
    expect((await process.ended(id)).task.state).toBe("cancelled");
  });

  it.each<[TimeSpan | Date, number]>([
    ["90s", 90_000],
    ["1.5h", 5_400_000],
    ["1w", 7 * day],
    [new Date(Date.UTC(2026, 0, 3)), 2 * day],
  ])("takes %s", async (time, ms) => {
    const process = await Process.started({ tools: { nap: nap(time) } });
    const id = await process.callId("nap");
    await process.until(id, ({ task }) => task.waiting);
    const [entry] = await wholeJournal(process.store, id);
    expect(entry?.deadlineAt).toBe(process.clock.now() + ms);
  });

  it("until a date that has passed is over at once", async () => {
    const process = await Process.started({ tools: { nap: nap(new Date(0)) } });
    const id = await process.callId("nap");
    await process.clock.advance(0);
    expect(bodyOf(await process.ended(id))).toEqual(text("woke in attempt 1"));
    const direct = process.runInline("nap");
    await process.clock.advance(0);
    expect(await direct).toMatchObject({ kind: "result" });
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, "soon", "3 d", "5", "-1s", new Date(Number.NaN)])(
    "refuses %s",
    async (time) => {
      const process = await Process.started({ tools: { nap: nap(time as number) } });
      for (const body of [
        bodyOf(await process.ended(await process.callId("nap"))),
        JSON.parse((await process.runInline("nap")).body),
      ])
        expect(body).toMatchObject({
          isError: true,
          content: [{ text: expect.stringMatching(/length of time|date/) }],
        });
    },
  );

  it("is a sleep in a direct run too", async () => {
    const process = await Process.started({ tools: { nap: nap(5_000) } });
    const running = process.runInline("nap");
    await process.clock.advance(5_000);
    expect(await running).toMatchObject({ kind: "result" });
  });
});

describe("a question with a deadline", () => {
  const asks: Handler = async (_, task) => {
    try {
      return text((await task.elicit("q", question, { timeoutMs: 1_000 })).action);
    } catch (error) {
      const { code } = error as { code?: string };
      const answer = await task.step("fallback", () => `${code}`);
      return text(`${answer} ${task.attempt}`);
    }
  };

  it("is given up in time, shown no more, and an answer is too late", async () => {
    const process = await Process.started({ tools: { asks } });
    const id = await process.callId("asks");
    await process.asked(id);
    await process.clock.advance(999);
    await process.asked(id);
    await process.clock.advance(1);
    const ended = await process.ended(id);
    expect(bodyOf(ended)).toEqual(text("input_timeout 1"));
    await process.answer(id, "q", yes);
    expect(await process.get(id)).toEqual(ended);
  });

  it("takes an answer before, and no timer is left", async () => {
    const process = await Process.started({ tools: { asks } });
    const id = await process.callId("asks");
    await process.asked(id);
    await process.answer(id, "q", yes);
    expect(bodyOf(await process.ended(id))).toEqual(text("accept"));
    await process.clock.advance(2_000);
    expect(process.errors).toEqual([]);
  });

  it("keeps its deadline through a crash, and its end on a replay", async () => {
    const hangs: Handler = async (_, task) => {
      await task.elicit("q", question, { timeoutMs: 1_000 }).catch(() => undefined);
      return never;
    };
    const first = await Process.started({ tools: { asks } });
    const id = await first.callId("asks");
    await first.asked(id);
    await first.clock.advance(600);
    const second = await first.crash({ tools: { asks: hangs } });
    await second.asked(id);
    await second.clock.advance(399);
    await second.asked(id);
    await second.clock.advance(1);
    await second.asked(id, 0);
    const third = await second.crash({ tools: { asks } });
    expect(bodyOf(await third.ended(id))).toEqual(text("input_timeout 3"));
  });

  it("fails a task that does not handle it, and follows the tool's own limit [A-23]", async () => {
    const handler: Handler = async (_, task) => text((await task.elicit("q", question)).action);
    const process = await Process.started({
      tools: { patient: handler, strict: { config: { inputTimeoutMs: 500 }, handler } },
      options: { inputTimeoutMs: 2_000 },
    });
    const [patient, strict] = [await process.callId("patient"), await process.callId("strict")];
    await process.asked(patient);
    await process.asked(strict);
    await process.clock.advance(500);
    expect(bodyOf(await process.ended(strict))).toMatchObject({ code: -32603 });
    await process.asked(patient);
    await process.clock.advance(1_500);
    await process.ended(patient);
  });
});

describe("Promise.race of a question and a sleep", () => {
  const race =
    (hang: boolean): Handler =>
    async (_, task) => {
      const winner = await Promise.race([
        task.sleep("limit", 1_000).then(() => "sleep"),
        task.elicit("q", question).then(() => "answer"),
      ]);
      const seen = await task.step(`saw ${winner}`, () => winner);
      return hang ? never : text(`${winner} ${seen}`);
    };

  it("takes the same branch after a crash although the other one has ended too", async () => {
    const first = await Process.started({ tools: { race: race(true) } });
    const answered = await first.callId("race");
    await first.asked(answered);
    await first.answer(answered, "q", yes);
    await first.journalHas(answered, "saw answer");
    const slept = await first.callId("race");
    await first.asked(slept);
    await first.clock.advance(1_000);
    await first.journalHas(slept, "saw sleep");
    await first.answer(slept, "q", yes);

    const second = await first.crash({ tools: { race: race(false) } });
    expect(bodyOf(await second.ended(answered))).toEqual(text("answer answer"));
    expect(bodyOf(await second.ended(slept))).toEqual(text("sleep sleep"));
  });

  it("of two steps takes the one that was first", async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const handler =
      (hang: boolean): Handler =>
      async (_, task) => {
        const mirrors = [0, 1].map((n) =>
          task.step(["mirror", n], async () => {
            await gates[n === 0 ? 0 : 1].promise;
            return n;
          }),
        );
        const winner = await Promise.race(mirrors);
        await Promise.all(mirrors);
        await task.step(`saw ${winner}`, () => undefined);
        return hang ? never : text(String(winner));
      };
    const first = await Process.started({ tools: { mirrors: handler(true) } });
    const id = await first.callId("mirrors");
    gates[1].resolve();
    await first.journalHas(id, '["mirror",1]');
    gates[0].resolve();
    await first.journalHas(id, "saw 1");
    const second = await first.crash({ tools: { mirrors: handler(false) } });
    expect(bodyOf(await second.ended(id))).toEqual(text("1"));
  });
});

describe("what a handler changes of its task", () => {
  it("keeps the newest progress, with few writes for many reports", async () => {
    const process = await Process.started({
      tools: {
        counts: async (_, task) => {
          for (let n = 1; n <= 1_000; n++) task.progress(n, 1_000, `item ${n}`);
          await task.sleep("look", 1_000);
          return text("done");
        },
      },
    });
    const id = await process.callId("counts");
    await process.until(id, ({ task }) => task.waiting);
    await process.clock.advance(500);
    const { task } = await process.get(id);
    expect(task.progress).toEqual({ progress: 1_000, total: 1_000, message: "item 1000" });
    expect(task.version).toBeLessThan(8);
    await process.clock.advance(500);
    await process.ended(id);
  });

  it("moves the end of life, both ways [X-023]", async () => {
    const waits: Handler = async (args, task) => {
      await task.extend(Number(args["ttl"]));
      if (args["sleeps"] !== true) return never;
      return task.sleep("long", 20_000).then(() => text("slept"));
    };
    const process = await Process.started({ tools: { waits }, options: { ttlMs: 5_000 } });
    const longer = await process.callId("waits", { arguments: { ttl: 30_000, sleeps: true } });
    const shorter = await process.callId("waits", { arguments: { ttl: 1_000 } });
    await process.until(longer, ({ task }) => task.waiting);
    expect((await process.get(longer)).task.expiry).toEqual({ from: "created", ms: 30_000 });
    await process.clock.advance(1_000);
    expect(bodyOf(await process.ended(shorter))).toMatchObject({ code: -32603 });
    await process.clock.advance(19_000);
    expect(bodyOf(await process.ended(longer))).toEqual(text("slept"));
  });

  it("sets the poll interval and the status text [X-025]", async () => {
    const process = await Process.started({
      tools: {
        slow: async (_, task) => {
          await task.pollInterval(60_000);
          await task.status("warming up");
          return never;
        },
      },
    });
    const id = await process.callId("slow");
    const { task } = await process.until(id, (snapshot) => snapshot.task.statusMessage !== null);
    expect(task).toMatchObject({ pollIntervalMs: 60_000, statusMessage: "warming up" });
  });
});

describe("maxRunMs", () => {
  it("ends a task without ttl, which is then kept as it would have been", async () => {
    const config = { ttlMs: null, maxRunMs: 5_000 };
    const process = await Process.started({
      tools: { hangs: { config, handler: () => never }, quick: { config, handler: () => text("quick") } },
    });
    const id = await process.callId("hangs");
    const quick = await process.callId("quick");
    await process.clock.advance(5_000);
    expect(bodyOf(await process.ended(id))).toMatchObject({ code: -32603 });
    await process.clock.advance(3_600_000);
    expect(bodyOf(await process.get(id))).toMatchObject({ code: -32603 });
    expect(bodyOf(await process.get(quick))).toEqual(text("quick"));
  });

  it("does not shorten a ttl", async () => {
    const config = { ttlMs: 9_000, maxRunMs: 5_000 };
    const process = await Process.started({ tools: { nap: { config, handler: nap(8_000) } } });
    const id = await process.callId("nap");
    await process.until(id, ({ task }) => task.waiting);
    await process.clock.advance(8_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("woke in attempt 1"));
  });
});

it("expires many tasks at once, in batches", async () => {
  const process = await Process.started({
    tools: { hangs: () => never },
    options: { ttlMs: 1_000, concurrency: 3 },
  });
  const ids = await Promise.all(Array.from({ length: 450 }, () => process.callId("hangs")));
  await process.clock.advance(1_000);
  for (const id of ids) expect(bodyOf(await process.ended(id))).toMatchObject({ code: -32603 });
  await process.clock.advance(60_000);
  for (const id of ids) await expect(process.get(id)).rejects.toMatchObject({ code: "unknown_task" });
});

it.each([0.5, 1e300])("keeps whole times alone, as databases do, where one is %d ms away", async (ms) => {
  const process = await Process.started({
    tools: {
      nap: nap(ms),
      asks: async (_, task) => text((await task.elicit("nap", question, { timeoutMs: ms })).action),
    },
    options: { maxRunMs: Number.MAX_SAFE_INTEGER },
  });
  for (const tool of ["nap", "asks"]) {
    const id = await process.callId(tool);
    await process.journalHas(id, "nap");
    const entry = await process.store.journalEntry(id, "nap");
    expect(entry?.deadlineAt).toSatisfy(Number.isSafeInteger);
  }
});

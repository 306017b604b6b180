import { describe, expect, it } from "vitest";
import { keptJournal } from "../../src/admin/act-on-task.ts";
import { wholeJournal } from "../../src/testing/sample-task.ts";
import { bodyOf, Process, text, type Handler, type Setup } from "./harness.ts";
import { SlotGauge } from "./slot-gauge.ts";

const minute = 60_000;
const form = { message: "Go on?", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: {} };

/** Adds up one number per round, a minute apart, until there were so many. */
function sums(last: number, seen: string[] = []): Handler {
  return async (_, task) => {
    const first = await task.step("first", () => 100);
    const sum = await task.loop("sum", { sum: first }, async (state, round) => {
      const more = await round.step("more", ({ idempotencyKey }) => {
        seen.push(idempotencyKey);
        return round.number;
      });
      await task.log("info", "Added one more");
      if (round.number === last) return state.sum + more;
      await round.sleep("pause", minute);
      return round.next({ sum: state.sum + more });
    });
    return text(String(await task.step("last", () => sum)));
  };
}

async function started(handler: Handler, more: Partial<Setup> = {}): Promise<[Process, string]> {
  const process = await Process.started({ tools: { loops: handler }, ...more });
  return [process, await process.callId("loops")];
}

async function keysOf(process: Process, id: string): Promise<readonly string[]> {
  return (await wholeJournal(process.store, id)).map(({ key }) => key);
}

const asleepIn = async (process: Process, id: string, round: number): Promise<void> =>
  process.journalHas(id, `["sum","round ${round}","pause"]`);

describe("task.loop", () => {
  it("hands a state from round to round, whose entries replace those of the last one", async () => {
    const seen: string[] = [];
    const [process, id] = await started(sums(300, seen));
    for (let round = 1; round < 300; round++) {
      await asleepIn(process, id, round);
      const own = [`["sum","round ${round}","more"]`, `["sum","round ${round}","pause"]`];
      expect(await keysOf(process, id)).toEqual(["first", ...(round === 1 ? [] : ["sum"]), ...own]);
      await process.clock.advance(minute);
    }
    expect(bodyOf(await process.ended(id))).toEqual(text(String(100 + (300 * 301) / 2)));
    expect(seen).toEqual(Array.from({ length: 300 }, (_, at) => `${id}:["sum","round ${at + 1}","more"]`));
    expect(await process.store.journalEntry(id, "sum")).toMatchObject({
      kind: "loop",
      tries: 300,
      doneAt: null,
    });
    expect((await process.get(id)).task.attempts.at(-2)).toMatchObject({ end: "next_round" });
    expect(await process.store.logs?.read(id, "log", 0, 999)).toHaveLength(300);
  });

  it("goes on in the round in which its process died, and does nothing of it twice", async () => {
    const seen: string[] = [];
    const tools = { loops: sums(4, seen) };
    const [first, id] = await started(tools.loops);
    await asleepIn(first, id, 1);
    await first.clock.advance(minute);
    await asleepIn(first, id, 2);
    const second = await first.crash({ tools });
    for (let round = 2; round < 4; round++) {
      await asleepIn(second, id, round);
      await second.clock.advance(minute);
    }
    expect(bodyOf(await second.ended(id))).toEqual(text("110"));
    expect(seen).toHaveLength(4);
  });

  it("asks each question under a key of its round, and takes no slot between rounds", async () => {
    const gauge = new SlotGauge();
    const asks: Handler = async (_, task) => {
      const rounds = await task.loop("ask", 1, async (count, round) => {
        const { action } = await round.elicit("go", form);
        return action === "accept" ? round.next(count + 1) : count;
      });
      return text(String(rounds));
    };
    const tools = { loops: asks, gauge: gauge.handler };
    const [process, id] = await started(asks, { tools, options: { concurrency: 1 } });
    for (let round = 1; round < 4; round++) {
      const key = `["ask","round ${round}","go"]`;
      await process.journalHas(id, key);
      expect((await process.get(id)).inputs.map((input) => input.key)).toEqual([key]);
      await process.answer(id, key, yes);
    }
    await process.journalHas(id, '["ask","round 4","go"]');
    await process.until(id, ({ task }) => task.waiting);
    expect(await gauge.free(process)).toBe(1);
    await process.answer(id, '["ask","round 4","go"]', { action: "decline" });
    expect(bodyOf(await process.ended(id))).toEqual(text("4"));
  });

  it("closes with a round what it left open, and cancels what it has called", async () => {
    const ended: string[] = [];
    const slow: Handler = async (_, task) => {
      await task.sleep("long", 9 * minute).finally(() => ended.push(task.cancelled ? "cancelled" : "done"));
      return text("slow");
    };
    const leaves: Handler = async (_, task) => {
      await task.loop("leaves", 1, async (count, round) => {
        if (count === 3) return;
        void round.elicit("left", form);
        void round.waitForEvent("left event", "stop");
        void round.call("left call", "slow", {}).catch(() => undefined);
        await round.sleep("pause", minute);
        return round.next(count + 1);
      });
      return text("done");
    };
    const [process, id] = await started(leaves, { tools: { loops: leaves, slow } });
    for (let round = 1; round < 3; round++) {
      await process.journalHas(id, `["leaves","round ${round}","pause"]`);
      await process.until(id, ({ task }) => task.openInputs === 1 && task.openWaits === 2);
      await process.clock.advance(minute);
    }
    expect(bodyOf(await process.ended(id))).toEqual(text("done"));
    const { task, inputs } = await process.get(id);
    expect([task.openInputs, task.openWaits, inputs]).toEqual([0, 0, []]);
    await process.clock.advance(minute);
    expect(ended).toEqual(["cancelled", "cancelled"]);
    expect(await process.store.unfinished("", 9)).toEqual([]);
    expect(await keysOf(process, id)).toEqual(["leaves"]);
  });

  it("waits for the steps of a round before the next one", async () => {
    const gates: (() => void)[] = [];
    const handler: Handler = async (_, task) => {
      await task.loop("steps", 1, async (count, round) => {
        if (count === 2) return;
        void round.step("slow", () => new Promise<void>((resolve) => gates.push(resolve)));
        await round.step("quick", () => 1);
        return round.next(count + 1);
      });
      return text("done");
    };
    const [process, id] = await started(handler);
    await process.until(id, () => gates.length === 1);
    await process.clock.advance(minute);
    expect((await process.get(id)).task).toMatchObject({ state: "running", attempt: 1 });
    gates[0]?.();
    expect(bodyOf(await process.ended(id))).toEqual(text("done"));
  });

  it("ends as cancelled with the round after which that was asked", async () => {
    const handler: Handler = async (_, task) => {
      await task.loop("busy", 0, async (count, round) => {
        await round.step("cancel", () => process.cancel(task.id));
        return round.next(count + 1);
      });
      return text("never");
    };
    const process = await Process.started({ tools: { loops: handler } });
    const id = await process.callId("loops");
    await process.ended(id);
    expect((await process.get(id)).task).toMatchObject({ state: "cancelled" });
  });

  it("runs its rounds one after the other for a call without a task", async () => {
    const handler: Handler = async (_, task) => {
      const end = await task.loop("direct", new Date(0), async (at, round) => {
        await round.step("step", () => round.number);
        return round.number === 3 ? at.getTime() : round.next(new Date(at.getTime() + 5));
      });
      return text(String(end));
    };
    const process = await Process.started({
      tools: { loops: { config: { task: "forbidden" }, handler } },
    });
    expect(JSON.parse((await process.runInline("loops")).body)).toEqual(text("10"));
  });

  it("keeps its round where a handler fails and is run again, and where an operator takes it up", async () => {
    let fails = 2;
    const handler: Handler = async (_, task) => {
      await task.loop("fails", { count: 1 }, async ({ count }, round) => {
        await round.step("kept", () => count);
        if (count === 3 && fails-- > 0) throw new Error("no luck");
        return count === 4 ? undefined : round.next({ count: count + 1 });
      });
      return text("done");
    };
    const config = { retry: { attempts: 2, backoff: { firstMs: 1_000 } } };
    const [process, id] = await started(handler, { tools: { loops: { config, handler } } });
    await process.clock.advance(2_000);
    expect(bodyOf(await process.ended(id))).toMatchObject({ isError: true });
    expect((await process.get(id)).task).toMatchObject({ failures: 1 });
    const kept = await keptJournal(process.store, id, {});
    expect(kept).toMatchObject([
      { key: "fails", kind: "loop", tries: 3, value: '{"count":3}', doneAt: null },
      { key: '["fails","round 3","kept"]', value: "3" },
    ]);
    expect(await keptJournal(process.store, id, { fromStart: true })).toEqual([]);
    expect(await keptJournal(process.store, id, { keepUpTo: '["fails","round 3","kept"]' })).toEqual(kept);
  });

  it("refuses a loop inside a round, and states that cannot be stored", async () => {
    const nested: Handler = async (_, task) => {
      await task.loop("outer", 1, async (_state, round) => {
        await (round as unknown as typeof task).loop("inner", 1, async () => undefined);
      });
      return text("never");
    };
    const start: unknown = 1;
    const unstorable: Handler = async (_, task) => {
      await task.loop("bad", start, async (_state, round) => round.next(() => 1));
      return text("never");
    };
    const process = await Process.started({ tools: { nested, unstorable } });
    for (const [tool, message] of [
      ["nested", "A loop cannot run inside the round of another one."],
      ["unstorable", 'The state of the loop "bad" cannot be stored'],
    ] as const) {
      const ended = await process.ended(await process.callId(tool));
      expect(ended.outcome?.body).toContain(JSON.stringify(message).slice(1, -1));
    }
  });
});

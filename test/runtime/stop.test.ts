import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../src/task/fault.ts";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";
import { Held } from "./watched-store.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: {} };

/** A handler that notes what its own code goes on with after `call`; a dropped one notes nothing. */
function noting(seen: string[], call: Handler): Handler {
  return async (args, task) => {
    try {
      const result = await call(args, task);
      seen.push(`went on ${task.attempt}`);
      return result;
    } catch (error) {
      seen.push(`caught ${task.attempt}`);
      throw error;
    } finally {
      seen.push(`finally ${task.attempt}`);
    }
  };
}

const secondOnly = ["went on 2", "finally 2"];

describe("a stop runs no code of a handler that it drops", () => {
  it("whose task is being given back as the answer comes", async () => {
    const releasing = new Held("release");
    const seen: string[] = [];
    const asks = noting(seen, async (_, task) => text((await task.elicit("q", question)).action));
    const first = await Process.started({ tools: { asks }, before: releasing.before });
    const id = await first.callId("asks");
    await first.asked(id);
    const stopping = first.restart({ tools: { asks } });
    await releasing.reached;
    await first.store.write({
      type: "answer_inputs",
      now: first.clock.now(),
      id,
      answers: [{ key: "q", value: JSON.stringify(yes) }],
    });
    await rest();
    releasing.open();
    const second = await stopping;
    expect(bodyOf(await second.ended(id))).toEqual(text("accept"));
    expect(seen).toEqual(secondOnly);
  });

  it("whose sleep ends as its task is being given back", async () => {
    const releasing = new Held("release");
    const seen: string[] = [];
    const naps = noting(seen, async (_, task) => (await task.sleep("z", 1_000), text("slept")));
    const first = await Process.started({ tools: { naps }, before: releasing.before });
    const id = await first.callId("naps");
    await first.until(id, ({ task }) => task.waiting);
    const stopping = first.restart({ tools: { naps } });
    await releasing.reached;
    await first.clock.advance(1_000);
    releasing.open();
    const second = await stopping;
    await second.clock.advance(0);
    expect(bodyOf(await second.ended(id))).toEqual(text("slept"));
    expect(seen).toEqual(secondOnly);
  });

  it("that begins to wait only after the stop has begun, without the deadline", async () => {
    const opening = new Held("open_input");
    const marking = new Held("mark");
    for (const held of [marking, opening]) {
      const seen: string[] = [];
      const asks = noting(seen, async (_, task) => text((await task.elicit("q", question)).action));
      const first = await Process.started({ tools: { asks }, before: held.before });
      const id = await first.callId("asks");
      await held.reached;
      const stopping = first.restart({ tools: { asks } });
      await rest();
      held.open();
      const second = await stopping;
      await second.asked(id);
      await second.answer(id, "q", yes);
      expect(bodyOf(await second.ended(id))).toEqual(text("accept"));
      expect(seen).toEqual(secondOnly);
    }
  });

  it("whose step ends after the deadline", async () => {
    const recording = new Held("record_step");
    const seen: string[] = [];
    const works = noting(seen, async (_, task) => task.step("s", () => text("worked")));
    const first = await Process.started({ tools: { works }, before: recording.before });
    const id = await first.callId("works");
    await recording.reached;
    const stopping = first.restart({ tools: { works } });
    await first.clock.advance(10_000);
    const second = await stopping;
    expect(bodyOf(await second.ended(id))).toEqual(text("worked"));
    recording.open();
    await rest();
    expect(seen).toEqual(secondOnly);
  });

  it("that waits on one branch while a step ends on another: its result is kept", async () => {
    const gate = Promise.withResolvers<void>();
    const seen: string[] = [];
    let runs = 0;
    const handler = noting(seen, async (_, task) => {
      const step = task.step("s", async () => {
        runs++;
        await gate.promise;
        return "kept";
      });
      const [answer, kept] = await Promise.all([task.elicit("q", question), step]);
      return text(`${answer.action} ${kept}`);
    });
    const first = await Process.started({ tools: { handler } });
    const id = await first.callId("handler");
    await first.asked(id);
    const stopping = first.restart({ tools: { handler } });
    await rest();
    gate.resolve();
    const second = await stopping;
    await second.asked(id);
    await second.answer(id, "q", yes);
    expect(bodyOf(await second.ended(id))).toEqual(text("accept kept"));
    expect([runs, seen]).toEqual([1, secondOnly]);
  });

  it("that begins a step while one of another branch runs: that one's result is kept, and this one not begun", async () => {
    const [slow, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const runs: string[] = [];
    const handler: Handler = async (_, task) => {
      const run = (name: string): string => {
        runs.push(`${name} ${task.attempt}`);
        return name;
      };
      const branches = [
        task.step("slow", async () => (run("slow"), await slow.promise, "kept")),
        late.promise.then(() => task.step("late", () => run("late"))),
      ];
      return text((await Promise.all(branches)).join());
    };
    const first = await Process.started({ tools: { handler } });
    const id = await first.callId("handler");
    await first.until(id, () => runs.length === 1);
    const stopping = first.restart({ tools: { handler } });
    await rest();
    late.resolve();
    await rest();
    slow.resolve();
    const second = await Promise.race([stopping, first.clock.advance(10_000).then(() => stopping)]);
    expect(bodyOf(await second.ended(id))).toEqual(text("kept,late"));
    expect(runs).toEqual(["slow 1", "late 2"]);
  });

  it("while a step that is to be tried again fails beside it: the next process goes on with it before that", async () => {
    const [fails, ends] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const runs: string[] = [];
    const retried = { retries: 1, backoff: { firstMs: 60_000 } };
    const handler: Handler = async (_, task) => {
      const unsteady = task.step("unsteady", retried, async () => {
        runs.push("unsteady");
        await fails.promise;
        throw new Error("not yet");
      });
      await task.step("first", () => (runs.push("first"), ends.promise));
      await task.step("second", () => void runs.push("second"));
      return text(String(await unsteady.catch(() => "failed")));
    };
    const first = await Process.started({ tools: { handler } });
    const id = await first.callId("handler");
    await first.until(id, () => runs.length === 2);
    const stopping = first.restart({ tools: { handler } });
    await rest();
    ends.resolve();
    await first.journalHas(id, "first");
    await rest();
    fails.resolve();
    const second = await stopping;
    await second.until(id, () => runs.length === 3);
    expect(runs).toEqual(["unsteady", "first", "second"]);
    await second.runtime.stop();
  });

  it("and that still reports when its store is closed", async () => {
    const seen: string[] = [];
    const gate = Promise.withResolvers<void>();
    let closed = false;
    const reports: Handler = async (_, task) => {
      await gate.promise;
      return noting(seen, async () => (await task.status("still here"), text("")))({}, task);
    };
    const config = { onCrash: "resume" as const };
    const first = await Process.started({
      tools: { reports: { config, handler: reports } },
      before: (call) => {
        if (closed) throw new HoldfastError("store_closed", "closed");
        closed = call === "close";
      },
    });
    const id = await first.callId("reports");
    await first.until(id, ({ task }) => task.state === "running");
    const stopping = first.runtime.stop();
    await first.clock.advance(10_000);
    await stopping;
    gate.resolve();
    await rest();
    expect([seen, first.errors]).toEqual([[], []]);
  });
});

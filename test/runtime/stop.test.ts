import { describe, expect, it } from "vitest";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import type { ToolConfig } from "../../src/runtime/tool/tool.ts";
import { HoldfastError } from "../../src/task/fault.ts";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";
import { Held } from "./watched-store.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: {} };
const never = new Promise<never>(() => undefined);

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

describe("a handler that a stop meets before its first entry", () => {
  const entries: Readonly<Record<string, Handler>> = {
    step: (_, task) => task.step("s", () => text("done")),
    sleep: async (_, task) => (await task.sleep("z", 0), text("done")),
    question: async (_, task) => (await task.elicit("q", question), text("done")),
    event: async (_, task) => (await task.waitForEvent("e", "paid"), text("done")),
    call: async (_, task) => (await task.call("c", "other"), text("done")),
    version: async (_, task) => (await task.version("v", 1), text("done")),
  };

  it.each(Object.entries(entries))(
    "and that reaches its %s within the deadline runs again",
    async (kind, reach) => {
      const gate = Promise.withResolvers<void>();
      const seen: string[] = [];
      const works = noting(seen, async (args, task) => {
        if (task.attempt === 1) await gate.promise;
        return reach(args, task);
      });
      const tools = { works, other: () => text("called") };
      const first = await Process.started({ tools });
      const id = await first.callId("works");
      await rest();
      const stopping = first.restart({ tools });
      await rest();
      gate.resolve();
      const second = await stopping;
      if (kind === "question") {
        await second.asked(id);
        await second.answer(id, "q", yes);
      }
      if (kind === "event") await second.runtime.sendEvent(id, { name: "paid" });
      if (kind === "sleep") await second.clock.advance(1);
      expect(bodyOf(await second.ended(id))).toEqual(text("done"));
      expect(seen).toEqual(secondOnly);
    },
  );

  it("and that another process ended meanwhile holds the stop up no longer", async () => {
    const gate = Promise.withResolvers<void>();
    const works: Handler = async (_, task) => {
      await gate.promise;
      return task.step("s", () => text("done"));
    };
    const first = await Process.started({ tools: { works } });
    const id = await first.callId("works");
    await rest();
    const stopping = first.restart({ tools: { works } });
    await first.store.write({ type: "cancel", now: first.clock.now(), id });
    gate.resolve();
    const second = await stopping; // without the deadline
    expect((await second.get(id)).task.state).toBe("cancelled");
  });
});

describe("a handler whose step ends after a stop began sees nothing that ends later", () => {
  const late: readonly (readonly [kind: string, key: string, handler: Handler])[] = [
    ["sleep", "limit", async (_, task) => (await task.sleep("limit", 1_000), text("too late"))],
    ["question", "q", async (_, task) => (await task.elicit("q", question), text("too late"))],
    ["event", "e", async (_, task) => (await task.waitForEvent("e", "gave up"), text("too late"))],
  ];

  it.each(late)("not even its %s", async (kind, key, waits) => {
    const [charged, mailed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const order: Handler = async (args, task) => {
      const mail = task.step("mail", () => mailed.promise);
      const charge = task.step("charge", async () => (await charged.promise, text("paid")));
      const first = await Promise.race([charge, waits(args, task)]);
      if (JSON.stringify(first).includes("paid")) await mail;
      return first;
    };
    const first = await Process.started({ tools: { order } });
    const id = await first.callId("order");
    await first.journalHas(id, key);
    const stopping = first.restart({ tools: { order } });
    await rest();
    charged.resolve();
    await first.journalHas(id, "charge");
    if (kind === "sleep") await first.clock.advance(1_000);
    if (kind === "question") {
      const value = JSON.stringify(yes);
      const now = first.clock.now();
      await first.store.write({ type: "answer_inputs", now, id, answers: [{ key, value }] });
    }
    if (kind === "event") {
      const now = first.clock.now();
      await first.store.write({
        type: "send_event",
        now,
        id,
        name: "gave up",
        value: "null",
        dedupeId: null,
        limit: 10,
      });
    }
    for (let turn = 0; turn < 20; turn++) await rest();
    mailed.resolve();
    const second = await stopping;
    expect(bodyOf(await second.ended(id))).toEqual(text("paid"));
  });
});

describe("an attempt from whose handler a stop has held an end back", () => {
  /** A handler whose charge ends after a stop began, while a step of another branch runs. */
  async function heldBack(
    other: (task: TaskContext, gaveUp: Promise<void>) => Promise<unknown>,
    config: ToolConfig<undefined> = {},
  ) {
    const gates = [
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
    ];
    const [charged, mailed, gaveUp] = gates.map(({ promise }) => promise) as [
      Promise<void>,
      Promise<void>,
      Promise<void>,
    ];
    const handler: Handler = async (_, task) => {
      const mail = task.step("mail", () => mailed);
      const charge = task.step("charge", async () => (await charged, "paid"));
      const end = await Promise.race([charge, other(task, gaveUp)]);
      await mail;
      return text(String(end));
    };
    const tools = { order: { config, handler } };
    const first = await Process.started({ tools });
    const id = await first.callId("order");
    await rest();
    const stopping = first.restart({ tools });
    await rest();
    gates[0]?.resolve();
    await first.journalHas(id, "charge");
    await rest();
    return { first, id, gates, stopping };
  }

  async function paid(stopping: Promise<Process>, id: string): Promise<void> {
    const second = await stopping;
    expect(bodyOf(await second.ended(id))).toEqual(text("paid"));
    expect((await second.get(id)).task).toMatchObject({ failures: 0, statusMessage: null });
    expect(await second.store.logs?.read(id, "log", 0, 10)).toEqual([]);
  }

  it("stores nothing that the handler returns or throws after that, or reports", async () => {
    for (const ends of [() => "nothing was charged", () => Promise.reject(new Error("no"))]) {
      const retry = { attempts: 2 };
      const other = async (task: TaskContext, gaveUp: Promise<void>): Promise<unknown> => {
        await (task.attempt === 1 ? gaveUp : never);
        void task.status("It gave up.");
        task.progress(1);
        void task.log("info", "It gave up.");
        return ends();
      };
      const { id, gates, stopping } = await heldBack(other, { retry });
      gates[2]?.resolve();
      await rest();
      gates[1]?.resolve();
      await paid(stopping, id);
    }
  });

  it("does not fail of its time limit", async () => {
    const { first, id, gates, stopping } = await heldBack(() => never, { timeoutMs: 2_000 });
    await first.clock.advance(3_000);
    gates[1]?.resolve();
    await paid(stopping, id);
  });
});

import { describe, expect, it } from "vitest";
import type { ChangeListener, TaskStore } from "../../src/store/store.ts";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import { FakeClock, rest } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler, type Setup } from "./harness.ts";
import { Failing, storeFailed, type StoreCall } from "./watched-store.ts";

const never = new Promise<never>(() => undefined);
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };

/** What a process is told of the changes of its store. */
type Telling = (listener: ChangeListener) => ChangeListener;

const tellings: readonly [what: string, telling: Telling][] = [
  ["each change", (listener) => listener],
  ["gaps alone", (listener) => (_, by) => listener("gap", by)],
];

function storeThatTells(inner: TaskStore, telling: Telling): TaskStore {
  const subscribe = inner.subscribe.bind(inner);
  inner.subscribe = (listener) => subscribe(telling(listener));
  return inner;
}

async function started(setup: Setup, telling: Telling): Promise<Process> {
  const process = new Process(
    setup,
    new FakeClock(),
    new CrashableStore((store) => storeThatTells(store, telling)),
  );
  await process.runtime.start();
  return process;
}

/** Counts what a process reads of its store. */
function counted(setup: Setup): { readonly setup: Setup; readonly reads: Map<StoreCall, number> } {
  const reads = new Map<StoreCall, number>();
  const before = (call: StoreCall): void => void reads.set(call, (reads.get(call) ?? 0) + 1);
  return { setup: { ...setup, before }, reads };
}

/** Runs until its signal aborts, and notes why. */
function untilTold(reasons: string[]): Handler {
  return (_, task) =>
    new Promise((_resolve, reject) => {
      task.signal.addEventListener("abort", () => {
        reasons.push((task.signal.reason as Error).message);
        reject(task.signal.reason as Error);
      });
    });
}

// What is written to `process.store` goes past the runtime, as the writes of another process do.
describe.each(tellings)("a process that is told of %s", (what, telling) => {
  it.each(["request_cancel", "cancel", "expire"] as const)(
    "shows a handler a %s by another",
    async (type) => {
      const reasons: string[] = [];
      const tools = { waits: untilTold(reasons) };
      const process = await started({ tools, options: { ttlMs: 60_000 } }, telling);
      const id = await process.callId("waits");
      await rest();
      const now = process.clock.now() + (type === "expire" ? 60_000 : 0);
      const outcome = { kind: "error", body: "{}" } as const;
      const more = { outcome, statusMessage: "over", visibleUntil: now };
      await process.store.write(type === "expire" ? { type, now, id, ...more } : { type, now, id });
      await rest();
      const told = type === "expire" ? `Task ${id} expired.` : "The task was cancelled.";
      expect(reasons).toEqual([told]);
      const { task } = await process.ended(id);
      expect(task.state).toBe(type === "expire" ? "settled" : "cancelled");
    },
  );

  it("shows a handler that its task was taken", async () => {
    const reasons: string[] = [];
    const process = await started({ tools: { waits: untilTold(reasons) } }, telling);
    const id = await process.callId("waits");
    await rest();
    const token = (await process.store.get(id))?.token ?? "";
    await process.store.write({ type: "release", now: process.clock.now(), id, token });
    await rest();
    expect(reasons).toEqual([`Task ${id} was taken over from this attempt.`]);
  });

  it("takes the answers that another stored to its handlers", async () => {
    const asks: Handler = async (_args, task) => {
      const [first, second] = await Promise.all([task.elicit("q", question), task.elicit("r", question)]);
      return text(`${first.action} ${second.action}`);
    };
    const process = await started({ tools: { asks } }, telling);
    const id = await process.callId("asks");
    await process.asked(id, 2);
    const { clock, store } = process;
    for (const key of ["q", "r"]) {
      const answer = { key, value: JSON.stringify({ action: "accept", content: {} }) };
      await store.write({ type: "answer_inputs", now: clock.now(), id, answers: [answer] });
      await rest();
    }
    expect(bodyOf(await process.ended(id))).toEqual(text("accept accept"));
  });

  it("tells who watches a task", async () => {
    const process = await started({ tools: { waits: () => never } }, telling);
    const id = await process.callId("waits");
    let told = 0;
    process.runtime.watch([id], () => void told++);
    await process.store.write({ type: "request_cancel", now: process.clock.now(), id });
    expect(told).toBeGreaterThan(0);
  });

  it("forgets the credentials of a queued task that another has ended", async () => {
    const setup = counted({ tools: { waits: () => never }, options: { concurrency: 1 } });
    const process = await started(setup.setup, telling);
    await process.callId("waits");
    const queued = await process.callId("waits", { credentials: "secret" });
    await rest();
    await process.store.write({ type: "cancel", now: process.clock.now(), id: queued });
    await rest();
    setup.reads.clear();
    // Of a task of which it holds nothing, it reads nothing; after a gap it reads the one that runs.
    await process.store.write({ type: "delete", now: process.clock.now(), id: queued });
    await rest();
    expect(setup.reads.get("get")).toBe(what === "gaps alone" ? 1 : undefined);
  });
});

describe("what others change", () => {
  it("is not read for what an attempt writes itself", async () => {
    const { setup, reads } = counted({
      tools: {
        works: async (_, task) => {
          for (let n = 0; n < 5; n++) await task.step(["s", n], () => n);
          await task.status("half");
          task.progress(1, 2);
          await task.sleep("nap", 10);
          return text((await task.elicit("q", question)).action);
        },
      },
    });
    const process = await Process.started(setup);
    const id = await process.callId("works", { credentials: "secret" });
    await process.clock.advance(1_000);
    await process.asked(id);
    reads.delete("snapshot"); // of this test
    await process.answer(id, "q", { action: "accept", content: {} });
    reads.delete("get"); // of the answer
    await process.clock.advance(1_000);
    expect((await process.store.get(id))?.state).toBe("settled");
    for (const read of ["get", "snapshot", "journal"] as const) expect(reads.get(read)).toBeUndefined();
  });

  it("shows in the next write of an attempt that was told nothing", async () => {
    let context: TaskContext | undefined;
    const gate = Promise.withResolvers<void>();
    const works: Handler = async (_, task) => {
      context = task;
      await task.step("a", () => gate.promise);
      await task.step("b", () => undefined);
      return text("done");
    };
    const silent: Telling = () => () => undefined;
    const process = await started({ tools: { works } }, silent);
    const id = await process.callId("works");
    await process.until(id, ({ task }) => task.journalled);
    await process.store.write({ type: "request_cancel", now: process.clock.now(), id });
    await rest();
    expect(context?.signal.aborted).toBe(false);
    gate.resolve();
    expect((await process.ended(id)).task.state).toBe("cancelled");
  });

  it("is read again until the store answers, once however often it changes", async () => {
    const reasons: string[] = [];
    const failing = new Failing("get", 3);
    const process = new Process({ tools: { waits: untilTold(reasons) }, before: failing.before });
    await process.runtime.start();
    const id = await process.callId("waits");
    await rest();
    const now = process.clock.now();
    for (const minutes of [1, 2, 3]) {
      const cancelBy = now + minutes * 60_000;
      await process.store.write({ type: "leave", now, id, stays: false, promised: false, cancelBy });
      await rest();
    }
    await process.store.write({ type: "request_cancel", now, id });
    await rest();
    expect([failing.hits, reasons]).toEqual([1, []]);
    await process.clock.advance(30_000);
    expect(reasons).toEqual(["The task was cancelled."]);
    expect(process.errors).toEqual([storeFailed(), storeFailed(), storeFailed()]);
  });

  it("is seen although it was told before the write that started the task had ended", async () => {
    const reasons: string[] = [];
    const gate = Promise.withResolvers<void>();
    const cancelling = (store: TaskStore): TaskStore => {
      const write = store.write.bind(store);
      // Both are committed, and told, before the runtime hears of its own.
      store.write = async (command) => {
        const result = await write(command);
        if (command.type !== "claim") return result;
        const [task] = await store.unfinished("", 1);
        await write({ type: "request_cancel", now: command.now, id: task?.id ?? "" });
        gate.resolve();
        return result;
      };
      return store;
    };
    const process = new Process(
      { tools: { waits: untilTold(reasons) } },
      new FakeClock(),
      new CrashableStore(cancelling),
    );
    await process.runtime.start();
    const id = await process.callId("waits", { queued: true });
    await gate.promise;
    await rest();
    expect(reasons).toEqual(["The task was cancelled."]);
    expect((await process.ended(id)).task.state).toBe("cancelled");
  });

  it("is not waited for at a stop", async () => {
    const failing = new Failing("get", Number.POSITIVE_INFINITY);
    const tools = { waits: { config: { onCrash: "resume" as const }, handler: (() => never) as Handler } };
    const process = await Process.started({ tools, before: failing.before });
    const id = await process.callId("waits");
    await rest();
    await process.store.write({ type: "request_cancel", now: process.clock.now(), id });
    await rest();
    expect(failing.hits).toBe(1);
    const stopping = process.runtime.stop(1_000);
    await process.clock.advance(1_000);
    await stopping;
    expect(process.clock.armed).toBe(0);
    expect(process.errors).toEqual(Array.from({ length: failing.hits }, storeFailed));
  });
});

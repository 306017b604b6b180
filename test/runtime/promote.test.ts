import { describe, expect, it } from "vitest";
import type { CallEnd } from "../../src/runtime/runtime.ts";
import type { ToolConfig } from "../../src/runtime/tool/tool.ts";
import type { TaskStore } from "../../src/store/store.ts";
import type { TaskCommand } from "../../src/task/command.ts";
import { FakeClock, rest } from "../../src/testing/clocks.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import { bodyOf, nobody, Process, text, type Handler } from "./harness.ts";

const never = new Promise<never>(() => undefined);
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const config: ToolConfig<undefined> = { promoteAfterMs: 1_000 };

async function start(handler: Handler, more: ToolConfig<undefined> = {}): Promise<Process> {
  return Process.started({ tools: { tool: { config: { ...config, ...more }, handler } } });
}

function call(process: Process, more: { key?: string; signal?: AbortSignal } = {}): Promise<CallEnd> {
  const { key, signal = new AbortController().signal } = more;
  const capabilities = { elicitation: {} };
  return process.runtime.call(
    { ...nobody, tool: "tool", arguments: {}, origin: { capabilities }, ...(key && { idempotencyKey: key }) },
    signal,
  );
}

async function taskOf(calling: Promise<CallEnd>): Promise<string> {
  const end = await calling;
  if (end.kind !== "task") throw new Error("answered directly");
  return end.snapshot.task.id;
}

describe("a tool that is promoted late", () => {
  it("is answered directly when it ends in time, and leaves no record and no timer", async () => {
    const process = await start(() => text("quick"));
    const end = await call(process);
    expect(end).toMatchObject({ kind: "outcome", outcome: { kind: "result" } });
    expect(await process.store.unfinished("", 10)).toEqual([]);
    await process.runtime.stop();
    expect(process.clock.armed).toBe(0);
  });

  it("becomes a task when it still runs after the time, and its end is the task's [X-004]", async () => {
    const gate = Promise.withResolvers<void>();
    const process = await start(async (_, task) => {
      await gate.promise;
      return text(task.id);
    });
    const calling = call(process);
    await process.clock.advance(999);
    expect(await process.store.unfinished("", 10)).toEqual([]);
    await process.clock.advance(1);
    const id = await taskOf(calling);
    gate.resolve();
    expect(bodyOf(await process.ended(id))).toEqual(text(id));
  });

  it.each<[string, Handler]>([
    ["step", (_, task) => task.step("s", () => text("done"))],
    ["sleep", (_, task) => task.sleep("z", 0).then(() => text("done"))],
  ])("becomes a task at its first %s, before that runs", async (_, handler) => {
    const process = await start(handler);
    const id = await taskOf(call(process));
    await process.clock.advance(1);
    const ended = await process.ended(id);
    expect(ended.task.journalled).toBe(true);
    expect(bodyOf(ended)).toEqual(text("done"));
  });

  it("is known from its creation on to whatever branch of its handler begins something", async () => {
    // The moments between its creation and that at which whoever made it hears of that.
    const moments = Array.from({ length: 40 }, () => Promise.withResolvers<void>());
    const handler: Handler = async (_, task) => {
      const branches = moments.map(({ promise }, n) => promise.then(() => task.sleep(["nap", n], 0)));
      await Promise.all([task.sleep("first", 0), ...branches]);
      return text("rested");
    };
    const momentsOf = (inner: TaskStore): TaskStore =>
      new Proxy(inner, {
        get(target, name: keyof TaskStore) {
          const member = target[name];
          if (typeof member !== "function") return member;
          const method: (...args: never[]) => unknown = member.bind(target);
          if (name !== "write") return method;
          return async (command: TaskCommand) => {
            const writing = target.write(command);
            void writing.then(async () => {
              for (const { resolve } of moments) await Promise.resolve(resolve());
            });
            return writing;
          };
        },
      });
    const tools = { tool: { config, handler } };
    const process = new Process({ tools }, new FakeClock(), new CrashableStore(momentsOf));
    await process.runtime.start();
    const id = await taskOf(call(process));
    await rest();
    await process.clock.advance(1);
    expect(bodyOf(await process.ended(id))).toEqual(text("rested"));
  });

  it("becomes a task at its first question, with what it had reported until then", async () => {
    const process = await start(async (_, task) => {
      await task.status("thinking");
      task.progress(1, 2);
      return text((await task.elicit("q", question)).action);
    });
    const id = await taskOf(call(process));
    const { task } = await process.asked(id);
    expect(task).toMatchObject({ statusMessage: "thinking", progress: { progress: 1, total: 2 } });
    await process.answer(id, "q", { action: "decline" });
    expect(bodyOf(await process.ended(id))).toEqual(text("decline"));
  });

  it("sees a key used twice, before and after", async () => {
    const process = await start(async (_, task) => {
      await task.step("same", () => 1);
      return text((await task.elicit("same", question)).action);
    });
    expect(bodyOf(await process.ended(await taskOf(call(process))))).toMatchObject({ code: -32603 });
  });

  it("is resumed after a crash like any other task", async () => {
    const tool = (hang: boolean) => ({
      tool: {
        config,
        handler: (async (_, task) => {
          const kept = await task.step("s", () => `from ${task.attempt}`);
          return hang ? never : text(kept);
        }) satisfies Handler,
      },
    });
    const first = await Process.started({ tools: tool(true) });
    const id = await taskOf(call(first));
    await first.journalHas(id, "s");
    const second = await first.crash({ tools: tool(false) });
    expect(bodyOf(await second.ended(id))).toEqual(text("from 1"));
  });

  it("has its record from the start where the call has an idempotency key [A-48]", async () => {
    const process = await start(() => never);
    expect(await taskOf(call(process, { key: "k".repeat(22) }))).toBeTypeOf("string");
  });

  it("is aborted by a caller that leaves before there is a task, and not after [A-32]", async () => {
    const reasons: unknown[] = [];
    const process = await start((_, task) => {
      task.signal.addEventListener("abort", () => reasons.push(task.signal.reason));
      return never;
    });
    const early = new AbortController();
    void call(process, { signal: early.signal });
    await rest();
    early.abort("gone");
    expect(reasons).toEqual(["gone"]);
    const late = new AbortController();
    const calling = call(process, { signal: late.signal });
    await process.clock.advance(1_000);
    const id = await taskOf(calling);
    late.abort("too late");
    expect(reasons).toEqual(["gone"]);
    await process.cancel(id);
    expect(reasons).toHaveLength(2);
  });

  it("gives its slot back however it ends", async () => {
    let direct = 0;
    const process = await Process.started({
      tools: {
        tool: {
          config,
          handler: async (_, task) =>
            ++direct % 2 === 0 ? text("direct") : task.step("s", () => text("task")),
        },
      },
      options: { concurrency: 1 },
    });
    for (let round = 0; round < 6; round++) {
      const end = await call(process);
      if (end.kind === "task") await process.ended(end.snapshot.task.id);
    }
    expect(direct).toBe(6);
  });

  it("becomes a task when the server stops", async () => {
    const setup = {
      tools: {
        tool: { config: { ...config, onCrash: "resume" as const }, handler: (() => never) as Handler },
      },
    };
    const first = await Process.started(setup);
    const calling = call(first);
    await rest();
    const stopping = first.restart({
      tools: {
        tool: { config: { onCrash: "resume" }, handler: (_, task) => text(`attempt ${task.attempt}`) },
      },
    });
    const id = await taskOf(calling);
    await first.clock.advance(10_000);
    const second = await stopping;
    expect(bodyOf(await second.ended(id))).toEqual(text("attempt 2"));
  });
});

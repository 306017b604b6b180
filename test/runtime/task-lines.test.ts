import { describe, expect, onTestFinished, test } from "vitest";
import type { LineList } from "../../src/task/task-line.ts";
import { nobody, Process, type Setup } from "./harness.ts";

/** What the task's list has, as texts. */
async function linesOf(process: Process, id: string, list: LineList = "log"): Promise<readonly unknown[]> {
  const lines = await process.runtime.lines(id, nobody, { list, after: 0, limit: 9_999 });
  return lines.map(({ body }) => (JSON.parse(body) as { text: unknown }).text);
}

const done = { content: [] };

describe("a log and an output", () => {
  test("have what the handler and its steps appended, in its order, with the step", async () => {
    const process = await Process.started({
      tools: {
        work: async (_, task) => {
          void task.log("info", "begins", { rows: 2 });
          await task.step("load", async () => void task.log("debug", "loading"));
          void task.output("half");
          await task.output([{ type: "text", text: "whole" }]);
          void task.log("notice", "ends");
          return done;
        },
      },
    });
    const id = await process.callId("work");
    const { task } = await process.ended(id);
    expect(task).toMatchObject({ logged: 3, outputs: 2, state: "settled" });
    const log = await process.runtime.lines(id, nobody, { list: "log", after: 0, limit: 9 });
    expect(log.map(({ step, body }) => [step, JSON.parse(body) as unknown])).toEqual([
      ["", { level: "info", text: "begins", data: { rows: 2 } }],
      ["load", { level: "debug", text: "loading" }],
      ["", { level: "notice", text: "ends" }],
    ]);
    expect(await linesOf(process, id, "output")).toEqual(["half", "whole"]);
    expect(await process.runtime.lines(id, nobody, { list: "log", after: 1, limit: 1 })).toEqual([log[1]]);
  });

  test("are shown to nobody else", async () => {
    const process = await Process.started({
      tools: { work: async (_, task) => (await task.log("info", "x"), done) },
    });
    const id = await process.callId("work", { principal: "ann" });
    const lines = process.runtime.lines(id, nobody, { list: "log", after: 0, limit: 9 });
    await expect(lines).rejects.toMatchObject({ code: "unknown_task" });
  });

  test("get no line twice when a crash has the handler run again", async () => {
    const crash = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    let runs = 0;
    const setup: Setup = {
      tools: {
        work: async (_, task) => {
          runs++;
          for (let n = 1; n <= 3; n++) await task.log("info", `line ${n}`);
          await task.log("info", "same");
          await task.log("info", "same");
          if (task.attempt > 1) await task.log("warning", `attempt ${task.attempt}`);
          await task.step("half", async () => {
            await task.log("info", "in the step");
            await task.output("chunk 1");
            if (runs > 1) return;
            reached.resolve();
            await crash.promise;
          });
          await task.output("end");
          return done;
        },
      },
    };
    const first = await Process.started(setup);
    const id = await first.callId("work");
    await reached.promise;
    const second = await first.crash(setup);
    await second.ended(id);
    const before = ["line 1", "line 2", "line 3", "same", "same", "in the step"];
    expect(await linesOf(second, id)).toEqual([...before, "attempt 2"]);
    expect(await linesOf(second, id, "output")).toEqual(["chunk 1", "end"]);
    expect(runs).toBe(2);
  });

  test("get the new lines of a step that is tried again, and none of the old ones", async () => {
    let tries = 0;
    const process = await Process.started({
      tools: {
        work: async (_, task) => {
          const fetch = async (): Promise<void> => {
            tries++;
            void task.log("info", "asking");
            void task.log("info", `mirror ${tries}`);
            if (tries < 3) throw new Error("busy");
          };
          await task.step("fetch", { retries: 5, backoff: { firstMs: 0 } }, fetch);
          return done;
        },
      },
    });
    const id = await process.callId("work");
    await process.clock.advance(60_000);
    await process.ended(id);
    expect(await linesOf(process, id)).toEqual(["asking", "mirror 1", "mirror 2", "mirror 3"]);
  });

  test("get nothing of a step that goes on after its time limit, beside its next try", async () => {
    const late = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<unknown>();
    let tries = 0;
    const process = await Process.started({
      tools: {
        work: async (_, task) => {
          const fetch = async (): Promise<void> => {
            const isFirst = ++tries === 1;
            await task.log("info", "asking");
            if (isFirst) await late.promise;
            else {
              late.resolve();
              await gone.promise;
            }
            try {
              await task.log("info", "asked");
            } catch (error) {
              gone.resolve(error);
            } finally {
              if (isFirst) gone.resolve(undefined);
            }
          };
          await task.step("fetch", { timeoutMs: 1_000, retries: 1, backoff: { firstMs: 0 } }, fetch);
          return done;
        },
      },
    });
    const id = await process.callId("work");
    await process.clock.advance(60_000);
    await process.ended(id);
    expect(await linesOf(process, id)).toEqual(["asking", "asked"]);
    expect(await gone.promise).toMatchObject({ code: "step_timeout" });
  });

  test("a log keeps its newest lines, and a handler that runs again appends those that are gone no more", async () => {
    const crash = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const setup: Setup = {
      options: { maxLogLines: 5 },
      tools: {
        work: async (_, task) => {
          await task.step("first", async () => task.log("info", "of the first step"));
          for (let n = 1; n <= 20; n++) void task.log("info", `line ${n}`);
          await task.step("hold", async () => {
            if (task.attempt > 1) return;
            for (let n = 1; n <= 7; n++) await task.log("info", `held ${n}`);
            reached.resolve();
            await crash.promise;
          });
          await task.log("info", "last");
          return done;
        },
      },
    };
    const first = await Process.started(setup);
    const id = await first.callId("work");
    await reached.promise;
    // The last line of the handler stays, since its place says how many are gone.
    expect(await linesOf(first, id)).toEqual(["line 20", "held 4", "held 5", "held 6", "held 7"]);
    const second = await first.crash(setup);
    const { task } = await second.ended(id);
    expect(await linesOf(second, id)).toEqual(["held 4", "held 5", "held 6", "held 7", "last"]);
    expect(task.logged).toBe(29);
  });

  test("a log that has forgotten lines gets none again from a handler that appends them in another order", async () => {
    const crash = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const texts = ["a 1", "a 2", "a 3", "b 1", "b 2", "b 3", "b 4"];
    const setup: Setup = {
      options: { maxLogLines: 5 },
      tools: {
        work: async (_, task) => {
          for (const each of task.attempt === 1 ? texts : texts.toReversed()) void task.log("info", each);
          await task.step("hold", async () => {
            if (task.attempt > 1) return;
            reached.resolve();
            await crash.promise;
          });
          return done;
        },
      },
    };
    const first = await Process.started(setup);
    const id = await first.callId("work");
    await reached.promise;
    const second = await first.crash(setup);
    expect((await second.ended(id)).task.logged).toBe(7);
    expect(await linesOf(second, id)).toEqual(texts.slice(2));
  });

  test.each([false, true])(
    "a log that has forgotten those of a step that failed gets none again where its handler is tried again, after a crash: %s",
    async (crashes) => {
      const crash = Promise.withResolvers<void>();
      const reached = Promise.withResolvers<void>();
      const setup: Setup = {
        options: { maxLogLines: 5 },
        tools: {
          work: {
            config: { retry: { attempts: 2, backoff: { firstMs: 0 } } },
            handler: async (_, task) => {
              const failing = async (): Promise<void> => {
                for (let n = 1; n <= 3; n++) void task.log("info", `failing ${n}`);
                throw new Error("busy");
              };
              await task.step("failing", failing).catch(() => undefined);
              if (crashes && task.attempt === 1) {
                reached.resolve();
                await crash.promise;
              }
              for (let n = 1; n <= 9; n++) void task.log("info", `line ${n}`);
              if (task.attempt < (crashes ? 3 : 2)) throw new Error("again");
              return done;
            },
          },
        },
      };
      let process = await Process.started(setup);
      const id = await process.callId("work");
      if (crashes) {
        await reached.promise;
        process = await process.crash(setup);
      }
      await process.clock.advance(60_000);
      expect((await process.ended(id)).task.logged).toBe(12);
    },
  );

  test("a log keeps as many bytes as it may have", async () => {
    const process = await Process.started({
      options: { maxLogBytes: 100 },
      tools: {
        work: async (_, task) => {
          for (let n = 1; n <= 9; n++) void task.log("info", `line ${n}`);
          return done;
        },
      },
    });
    const id = await process.callId("work");
    await process.ended(id);
    expect(await linesOf(process, id)).toEqual(["line 7", "line 8", "line 9"]);
  });

  test("an output that has no room ends the handler that does not catch that, also where nobody waits", async () => {
    const process = await Process.started({
      options: { maxOutputBlocks: 2 },
      tools: {
        work: async (_, task) => {
          for (let n = 1; n <= 3; n++) void task.output(`block ${n}`);
          return done;
        },
      },
    });
    const id = await process.callId("work");
    const { outcome } = await process.ended(id);
    expect(outcome).toMatchObject({ kind: "error" });
    expect(outcome?.body).toContain("maxOutputBlocks");
    expect(await linesOf(process, id, "output")).toEqual(["block 1", "block 2"]);
  });

  test.each([
    [(task: Task) => task.log("warn" as "warning", "x"), /levels.*"warning.*not .*"warn/],
    [(task: Task) => task.log("info", 1 as unknown as string), /string, not 1/],
    [(task: Task) => task.log("info", "x", new Date(0)), /line of the log/],
    [(task: Task) => task.log("info", "x".repeat(300_000)), /maxLogBytes/],
    [(task: Task) => task.output({ type: "txt" } as never), /content blocks.*an object/],
    [(task: Task) => task.output("x".repeat(2_000_000)), /maxOutputBytes/],
  ])("say what is wrong with a line at once (%#)", async (misuse, said) => {
    const process = await Process.started({
      tools: {
        work: async (_, task) => {
          void misuse(task);
          return done;
        },
      },
    });
    const { outcome } = await process.ended(await process.callId("work"));
    for (const end of [outcome, await process.runInline("work")]) {
      expect(end?.kind).not.toBe("result");
      expect(end?.body).toMatch(said);
    }
  });

  test("lines that a handler appends together are written by one command", async () => {
    let writes = 0;
    const process = await Process.started({
      before: (call) => void (writes += call === "append" ? 1 : 0),
      tools: {
        work: async (_, task) => {
          for (let n = 1; n <= 9; n++) void task.log("info", `line ${n}`);
          await task.output("half");
          expect(writes).toBe(1);
          await task.log("info", "line 10");
          return done;
        },
      },
    });
    const id = await process.callId("work");
    expect((await process.ended(id)).outcome).toMatchObject({ kind: "result" });
    expect(writes).toBe(2);
    expect(await linesOf(process, id)).toHaveLength(10);
  });

  test.each(["a step", "the task"])("%s ends beside a branch that logs without a pause", async (what) => {
    let isOver = false;
    const process = await Process.started({
      before: (call) => (call === "append" ? new Promise(setImmediate) : undefined),
      tools: {
        work: async (_, task) => {
          const chatter = async (): Promise<void> => {
            for (let n = 1; !isOver; n++) await task.log("info", `line ${n}`);
          };
          const chatting = chatter().catch(() => undefined);
          await task.step("quiet", async () => void task.log("notice", "in the step"));
          if (what === "a step") {
            isOver = true;
            await chatting;
          }
          return done;
        },
      },
    });
    onTestFinished(() => void (isOver = true));
    const id = await process.callId("work");
    expect((await process.ended(id)).outcome).toMatchObject({ kind: "result" });
    expect(await linesOf(process, id)).toContain("in the step");
  });

  test("a call that becomes a task later has what it appended before", async () => {
    const process = await Process.started({
      tools: {
        work: {
          config: { promoteAfterMs: 1_000 },
          handler: async (_, task) => {
            void task.log("info", "early");
            await task.step("go", async () => void task.log("info", "late"));
            return done;
          },
        },
      },
    });
    const end = await process.runtime.call(
      {
        generation: "2026-07-28",
        tool: "work",
        arguments: {},
        principal: null,
        origin: { capabilities: {} },
      },
      new AbortController().signal,
    );
    if (end.kind !== "task") throw new Error("it was answered directly");
    await process.ended(end.snapshot.task.id);
    expect(await linesOf(process, end.snapshot.task.id)).toEqual(["early", "late"]);
  });
});

type Task = Parameters<Extract<Setup["tools"][string], (...args: never[]) => unknown>>[1];

import { describe, expect, onTestFinished, test } from "vitest";
import type { LineList } from "../../src/task/task-line.ts";
import { nobody, Process, type Handler, type Setup } from "./harness.ts";

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

  test("let others run while a handler reports what is not kept any more", async () => {
    let shown = 0;
    const process = await Process.started({
      options: { maxOutputBlocks: 10 },
      tools: {
        work: async (_, task) => {
          for (let n = 0; n < 10; n++) await task.output("kept");
          let isElsewhere = false;
          setImmediate(() => (isElsewhere = true));
          while (!isElsewhere && shown < 10_000) await task.output(`too much ${++shown}`);
          return done;
        },
      },
    });
    await process.ended(await process.callId("work"));
    expect(shown).toBeLessThan(200);
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

  test("an output that has no room says so at its end, and how much it lacks in the log, after a crash too", async () => {
    const crash = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const setup: Setup = {
      options: { maxOutputBlocks: 2 },
      tools: {
        work: async (_, task) => {
          for (let n = 1; n <= 4; n++) void task.output(`block ${n}`);
          await task.step("hold", async () => {
            if (task.attempt > 1) return;
            reached.resolve();
            await crash.promise;
          });
          await task.output("block 5");
          task.progress(Number.NaN);
          return done;
        },
      },
    };
    const first = await Process.started(setup);
    const id = await first.callId("work");
    await reached.promise;
    const second = await first.crash(setup);
    const { outcome } = await second.ended(id);
    expect(outcome).toEqual({ kind: "result", body: '{"content":[]}' });
    const full = "The output of this task is full. What came later was not kept.";
    expect(await linesOf(second, id, "output")).toEqual(["block 1", "block 2", full]);
    expect(await linesOf(second, id)).toEqual([
      "Some of what this task reported was not kept: 3 output blocks beyond maxOutputBlocks or maxOutputBytes, 1 progress report without a finite number.",
    ]);
  });

  const cyclic: Record<string, unknown> = { name: "self" };
  cyclic["self"] = cyclic;
  const failure = Object.assign(new Error("refused", { cause: new TypeError("closed") }), { code: "E1" });
  const unreadable = {
    get secret(): never {
      throw new Error("not for you");
    },
  };

  test.each<[string, unknown, unknown]>([
    ["plain data", { page: 1, rows: [] }, { page: 1, rows: [] }],
    [
      "an error",
      failure,
      {
        name: "Error",
        message: "refused",
        code: "E1",
        cause: { name: "TypeError", message: "closed" },
      },
    ],
    ["a date", { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
    ["a bigint", { n: 10n }, { n: "10n" }],
    ["a cycle", cyclic, { name: "self", self: "[circular]" }],
    ["a map and a set", new Map([["a", new Set([1])]]), [["a", [1]]]],
    ["a function and a symbol", [() => 1, Symbol("s")], ["[function]", "Symbol(s)"]],
    ["bytes", new Uint8Array(9), "[9 bytes]"],
    ["no number", [Number.NaN], ["NaN"]],
    ["a member that cannot be read", unreadable, "[cannot be read: not for you]"],
  ])("take %s as the data of a line", async (_, data, expected) => {
    const lines: unknown[] = [];
    const work: Handler = (__, task) => {
      void task.log("info", "x", data);
      return done;
    };
    const process = await Process.started({ tools: { work } });
    const id = await process.callId("work");
    expect((await process.ended(id)).outcome).toMatchObject({ kind: "result" });
    for (const { body } of await process.runtime.lines(id, nobody, { list: "log", after: 0, limit: 9 }))
      lines.push(JSON.parse(body));
    expect(lines).toEqual([{ level: "info", text: "x", data: expected }]);
    expect((await process.runInline("work")).kind).toBe("result");
  });

  test("take whatever a handler reports, awaited or not, in a task and without one", async () => {
    const report = async (task: Task): Promise<void> => {
      await task.log("warn" as "warning", "the disk is nearly full");
      await task.log("info", failure as never);
      await task.log("info", "a promise that rejects", [Promise.reject(new Error("unseen"))]);
      await task.output({ type: "txt" } as never);
      await task.output([1, 2] as never);
      await task.output(failure as never);
      await task.status(failure as never);
      task.progress(5n as never, "many" as never, failure as never);
    };
    const process = await Process.started({
      tools: {
        work: async (_, task) => {
          await report(task);
          await task.sleep("pause", 1_000);
          return done;
        },
        direct: async (_, task) => {
          await report(task);
          return done;
        },
      },
    });
    const id = await process.callId("work");
    await process.clock.advance(500);
    expect((await process.get(id)).task).toMatchObject({
      statusMessage: "Error: refused",
      progress: { progress: 5, message: "Error: refused" },
    });
    await process.clock.advance(1_000);
    await process.ended(id);
    expect(await linesOf(process, id)).toEqual([
      "[warn] the disk is nearly full",
      "Error: refused",
      "a promise that rejects",
    ]);
    expect(await linesOf(process, id, "output")).toEqual(['{"type":"txt"}', "[1,2]", "Error: refused"]);
    expect(await process.runInline("direct")).toMatchObject({ kind: "result" });
  });

  test("are cut where they are too long, with a mark that says how much is missing, and kept once", async () => {
    const crash = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const setup: Setup = {
      options: { maxOutputBytes: 1_000, maxLogBytes: 1_000, maxStatusBytes: 100 },
      tools: {
        work: async (_, task) => {
          void task.log("info", "é".repeat(300_000));
          void task.log("info", "data", { rows: Array.from({ length: 9_999 }, (__, n) => `row ${n}`) });
          void task.output("\n".repeat(2_000_000));
          void task.status("s".repeat(5_000));
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
    expect((await first.get(id)).task.statusMessage).toMatch(/^s{70}… \[4930 more bytes\]$/);
    const second = await first.crash(setup);
    const { task } = await second.ended(id);
    expect(task).toMatchObject({ logged: 2, outputs: 1, outcomeKind: "result" });
    expect(await linesOf(second, id, "output")).toEqual([expect.stringMatching(/^\n+… \[\d+ more bytes\]$/)]);
    const [line] = await second.runtime.lines(id, nobody, { list: "log", after: 0, limit: 9 });
    const { data } = JSON.parse(line?.body ?? "") as { data: { rows: string[] } };
    expect(data.rows[0]).toBe("row 0");
    expect(data.rows.at(-1)).toBe(`… [${9_999 - data.rows.length + 1} more]`);
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

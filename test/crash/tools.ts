// The tools of the server that the crash suites kill. Each logs what it does outside the journal: `begins` and `returns`
// for an attempt, `run` as a step begins, `kept` once its result is known to be in the journal, `fails` before it throws, `throws`
// before the handler does, `asks` before a question or a wait for an event, `saw` for what else the journal has decided, and `told` where the handler hears
// of a cancel and stops what it has started elsewhere.
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { TaskContext, Tasks } from "holdfast";
import * as z from "zod";
import type { LogEvent } from "./log.ts";
import { addTreeTools } from "./tree-tools.ts";
import { attempts, failure, retries } from "./tries.ts";

export type Log = (event: LogEvent, task: TaskContext, key: string, value?: string) => void;

const requestedSchema = { type: "object" as const, properties: { word: { type: "string" as const } } };
const question = { message: "Which word?", requestedSchema };
const counted = { inputSchema: z.object({ count: z.number() }) };
const timed = { inputSchema: z.object({ ms: z.number() }) };

const text = (...words: readonly string[]): CallToolResult => ({
  content: [{ type: "text", text: words.join(" ") }],
});

/** The status text of a task whose question may be answered. */
export const answerable = "The steps have run.";

export function addTools(tasks: Tasks, log: Log): void {
  const tool: Tasks["tool"] = (name, config, handler) => {
    return tasks.tool(name, config, async (args, task) => {
      log("begins", task, "");
      try {
        return (await handler(args, task)) as never; // its type has been checked
      } finally {
        log("returns", task, "");
      }
    });
  };

  /** A step whose result nobody could guess, so that only the journal can give it back. */
  async function secretStep(task: TaskContext, key: string): Promise<string> {
    const value = await task.step(key, async () => {
      log("run", task, key);
      await pause(Math.random() * 4);
      return randomUUID();
    });
    log("kept", task, key, value);
    return value;
  }

  async function ask(task: TaskContext, timeoutMs?: number): Promise<string> {
    log("asks", task, "word");
    const { content } = await task.elicit("word", question, timeoutMs === undefined ? {} : { timeoutMs });
    return String(content?.["word"]);
  }

  tool("steps", { ...counted, onCrash: "resume" }, async ({ count }, task) => {
    const values: string[] = [];
    for (let n = 0; n < count; n++) values.push(await secretStep(task, `step ${n}`));
    return text(...values);
  });

  // By the default of `onCrash`: once a step has begun, the task can be resumed.
  tool("parallel", counted, async ({ count }, task) => {
    return text(
      ...(await Promise.all(Array.from({ length: count }, (_, n) => secretStep(task, `step ${n}`)))),
    );
  });

  tool("asks", { requires: ["elicitation"], onCrash: "resume" }, async (_, task) => {
    const before = await secretStep(task, "before");
    const word = await ask(task);
    log("saw", task, "word", word);
    return text(before, word, await secretStep(task, "after"));
  });

  // Nobody answers before the steps have run.
  tool("beside", { ...counted, requires: ["elicitation"], onCrash: "resume" }, async ({ count }, task) => {
    const steps = async (): Promise<string[]> => {
      const values: string[] = [];
      for (let n = 0; n < count; n++) values.push(await secretStep(task, `step ${n}`));
      await task.status(answerable);
      return values;
    };
    const [word, values] = await Promise.all([ask(task), steps()]);
    log("saw", task, "word", word);
    return text(word, ...values);
  });

  // What its first step has started elsewhere it stops when it is cancelled.
  tool("hires", { requires: ["elicitation"], onCrash: "resume" }, async (_, task) => {
    const hired = await secretStep(task, "hired");
    try {
      const word = await ask(task);
      log("saw", task, "word", word);
      return text(hired, word, await secretStep(task, "after"));
    } catch (error) {
      if (task.signal.aborted) log("told", task, "hired", hired);
      throw error;
    }
  });

  tool("naps", { ...timed, onCrash: "resume" }, async ({ ms }, task) => {
    const before = await secretStep(task, "before");
    log("lies down", task, "nap", String(Date.now()));
    await task.sleep("nap", ms);
    log("wakes", task, "nap", String(Date.now()));
    return text(before, await secretStep(task, "after"));
  });

  tool("deadline", { ...timed, requires: ["elicitation"], onCrash: "resume" }, async ({ ms }, task) => {
    const word = await ask(task, ms).catch((error: unknown) => {
      if ((error as { code?: unknown }).code === "input_timeout") return "late";
      throw error;
    });
    log("saw", task, "word", word);
    return text(word, await secretStep(task, "after"));
  });

  tool("race", { ...timed, requires: ["elicitation"], onCrash: "resume" }, async ({ ms }, task) => {
    const word = await Promise.race([task.sleep("limit", ms).then(() => "slept"), ask(task)]);
    const after = await secretStep(task, `after ${word}`);
    log("saw", task, "word", word);
    return text(word, after);
  });

  // Answered directly or as a task, as it comes: its first step makes it one, and so do 15 ms.
  tool("late", { ...counted, promoteAfterMs: 15, onCrash: "resume" }, async ({ count }, task) => {
    await pause(count * 4);
    if (count < 6) return text("no steps");
    const values: string[] = [];
    for (let n = 0; n < count; n++) values.push(await secretStep(task, `step ${n}`));
    return text(...values);
  });

  // Fails at random. The pauses are long enough now and then for its frame to be dropped.
  const retry = { attempts, backoff: { firstMs: 20, factor: 10 } };
  tool("tries", { retry }, async (_, task) => {
    try {
      const before = await secretStep(task, "before");
      const options = { retries, backoff: { firstMs: 100, factor: 15 } };
      const tried = await task.step("tried", options, async () => {
        log("run", task, "tried");
        await pause(Math.random() * 4);
        if (Math.random() >= 0.6) return randomUUID();
        log("fails", task, "tried");
        throw new Error(failure);
      });
      log("kept", task, "tried", tried);
      if (Math.random() < 0.5) throw new Error(failure);
      return text(before, tried);
    } catch (error) {
      if (!task.signal.aborted) log("throws", task, "");
      throw error;
    }
  });

  // Takes all events of two names, each in the order in which they came. Of one name its waits do not last, and begin anew.
  const collected = { inputSchema: z.object({ count: z.number(), ms: z.number() }) };
  tool("collects", { ...collected, onCrash: "resume" }, async ({ count, ms }, task) => {
    const collect = async (name: string, options: { readonly timeoutMs?: number }): Promise<string[]> => {
      const values: string[] = [];
      for (let n = 0; values.length < count; n++) {
        log("asks", task, `${name} ${n}`);
        const value = await task
          .waitForEvent<string>(`${name} ${n}`, name, options)
          .catch((error: unknown) => {
            if ((error as { code?: unknown }).code === "event_timeout") return "late";
            throw error;
          });
        log("saw", task, `${name} ${n}`, value);
        if (value !== "late") values.push(value);
      }
      return values;
    };
    const [lasting, short] = await Promise.all([collect("lasting", {}), collect("short", { timeoutMs: ms })]);
    return text(...lasting, ...short);
  });

  addTreeTools(tool, log, secretStep);

  tool("once", {}, async (_, task) => {
    log("run", task, "whole");
    await pause(Math.random() * 20);
    return text(randomUUID());
  });
}

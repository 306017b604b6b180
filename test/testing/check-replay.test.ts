import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { ToolConfig, ToolHandler } from "../../src/runtime/tool/tool.ts";
import type { TaskCall } from "../../src/runtime/runtime.ts";
import { createTasks } from "../../src/server/tasks.ts";
import { exportJournal, type JournalRecording } from "../../src/store/export-journal.ts";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { checkReplay, type CheckReplayOptions, type ReplayCheck } from "../../src/testing/check-replay.ts";
import { Process, text, type Handler } from "../runtime/harness.ts";

const never = new Promise<never>(() => undefined);
const question = { message: "Go on?", requestedSchema: { type: "object" as const, properties: {} } };

/** The recording of a task that has come to the key `until`, or to its end. */
async function recorded(
  handler: Handler,
  until?: string,
  { config = {}, ...call }: Partial<TaskCall> & { readonly config?: ToolConfig<undefined> } = {},
): Promise<JournalRecording> {
  const process = await Process.started({ tools: { report: { config, handler } } });
  const id = await process.callId("report", call);
  const { generation = "2026-07-28", principal = null } = call;
  if (until !== undefined) await process.journalHas(id, until);
  else await process.until(id, ({ outcome }) => outcome !== null, { generation, principal });
  // As a file has it.
  return JSON.parse(JSON.stringify(await exportJournal(process.store, id))) as JournalRecording;
}

function check(
  recording: JournalRecording,
  handler: ToolHandler<Record<string, unknown>>,
  options: CheckReplayOptions & { readonly config?: ToolConfig<undefined> } = {},
): Promise<ReplayCheck> {
  const { config = {}, ...rest } = options;
  const tasks = createTasks({ store: memoryStore() });
  tasks.tool("report", config, handler);
  return checkReplay(tasks, recording, rest);
}

/** Steps one after the other, and then one that never ends. */
const steps =
  (...keys: readonly string[]): Handler =>
  async (_, task) => {
    for (const key of keys) await task.step(key, () => key);
    return task.step("last", () => never);
  };

/** Steps that must not run. */
const replays =
  (...keys: readonly string[]): Handler =>
  async (_, task) => {
    for (const key of keys) await task.step(key, () => Promise.reject(new Error(`${key} has run`)));
    return text("end");
  };

const fine = { ok: true, problems: [], unreached: [], renamed: {}, changed: [] };

describe("a task that runs", () => {
  it("goes on with code that does the same, up to what is not in the journal", async () => {
    const recording = await recorded(steps("a", "b"), "b");
    const found = await check(recording, replays("a", "b", "c", "d"));
    expect(found).toEqual({ ...fine, added: ["c"], end: "waits" });
  });

  it("may come to its end with the code", async () => {
    const recording = await recorded(steps("a", "b"), "b");
    expect(await check(recording, replays("b", "a"))).toEqual({
      ...fine,
      added: [],
      end: "returned",
      outcome: { kind: "result", body: text("end") },
    });
  });

  it("does not come to a key behind a new one, nor to one that was renamed", async () => {
    const recording = await recorded(steps("a", "b"), "b");
    expect(await check(recording, replays("a", "new", "b"), { settleMs: 1 })).toEqual({
      ok: false,
      problems: ['The handler does not reach "b", which is in the journal. Was it renamed to "new"?'],
      added: ["new"],
      unreached: ["b"],
      renamed: { b: "new" },
      changed: [],
      end: "waits",
    });
    const renamed = await check(recording, replays("a", "b2"), { settleMs: 1 });
    expect(renamed).toMatchObject({
      ok: false,
      added: ["b2"],
      unreached: ["b"],
      renamed: { b: "b2" },
      problems: ['The handler does not reach "b", which is in the journal. Was it renamed to "b2"?'],
    });
    const declared: Handler = async (_, task) => {
      task.renamed({ b: "b2" });
      return replays("a", "b2")({}, task);
    };
    expect(await check(recording, declared)).toMatchObject({ ...fine, added: [], end: "returned" });
  });

  it("does not try a step again, however long ago that would have been", async () => {
    const options = { retries: 3, backoff: { firstMs: 60_000 } };
    const flaky: Handler = async (_, task) =>
      text(await task.step("flaky", options, () => Promise.reject(new Error("not yet"))));
    const recording = await recorded(flaky, "flaky");
    expect(recording.entries).toMatchObject([{ key: "flaky", tries: 1, doneAt: null }]);
    let tries = 0;
    const found = await check(
      recording,
      async (_, task) => {
        await task.step("flaky", options, () => void tries++);
        return text("end");
      },
      { settleMs: 50 },
    );
    expect(tries).toBe(0);
    expect(found).toEqual({ ...fine, added: [], end: "waits" });
  });

  it("may begin something new beside what is recorded", async () => {
    const recording = await recorded(steps("a", "b"), "b");
    const found = await check(recording, async (_, task) => {
      const beside = task.step("new", () => never);
      await task.step("a", () => never);
      await task.step("b", () => never);
      return beside;
    });
    expect(found).toEqual({ ...fine, added: ["new"], end: "waits" });
  });

  it("is told of keys that have become something else, also where the handler goes on", async () => {
    const recording = await recorded(async (_, task) => {
      await task.step("a", () => 1);
      return text((await task.elicit("ask", question)).action);
    }, "ask");
    const found = await check(recording, async (_, task) => {
      await task.sleep("a", 5).catch(() => undefined);
      await task.elicit("ask", { ...question, message: "Really?" }).catch(() => undefined);
      return text("end");
    });
    expect(found).toMatchObject({
      ok: false,
      unreached: [],
      changed: [
        { key: "a", problem: expect.stringContaining('(step) under the key "a"') },
        { key: "ask", problem: expect.stringContaining("a different question under the key") },
      ],
      end: "returned",
    });
    expect(found.problems).toEqual(found.changed.map(({ problem }) => problem));
  });

  it("waits at questions and sleeps that are open, and is given what has come", async () => {
    const handler: Handler = async (_, task) => {
      const [answer] = await Promise.all([task.elicit("ask", question), task.sleep("nap", 1)]);
      return text(answer.action);
    };
    const recording = await recorded(handler, "nap");
    expect(await check(recording, handler)).toEqual({ ...fine, added: [], end: "waits" });
    const answered = recording.entries.map((entry) => ({
      ...entry,
      doneAt: 1,
      ...(entry.kind === "input" && { value: { action: "accept" } }),
    }));
    const found = await check({ ...recording, entries: answered }, handler);
    expect(found).toMatchObject({ ok: true, outcome: { body: text("accept") } });
  });

  it("finds its caller, its arguments, its attempt, and failed steps as they failed", async () => {
    const caller = { clientId: "editor", scopes: ["mail"], claims: { team: "a" } };
    const handler: Handler = async (args, task) => {
      const failure = await task.step("fails", () => Promise.reject(new TypeError("no"))).catch(String);
      await task.step("nothing", () => undefined);
      const seen = { args, failure, caller: task.caller, attempt: task.attempt };
      await task.status("on its way");
      task.progress(1, 2);
      if (task.attempt > 1) return text(JSON.stringify({ ...seen, credentials: await task.credentials() }));
      return never;
    };
    const recording = await recorded(handler, "nothing", {
      principal: "ann",
      arguments: { n: 1 },
      origin: { capabilities: {}, caller },
    });
    const { outcome, ...found } = await check(recording, handler, { credentials: "secret" });
    expect(found).toEqual({ ...fine, added: [], end: "returned" });
    const [said] = (outcome?.body as ReturnType<typeof text> | undefined)?.content ?? [];
    expect(JSON.parse(said?.type === "text" ? said.text : "")).toEqual({
      args: { n: 1 },
      failure: "TypeError: no",
      caller: { principal: "ann", ...caller },
      attempt: 2,
      credentials: "secret",
    });
  });

  it("is not to be thrown out of, or refused, by new code", async () => {
    const recording = await recorded(steps("a"), "a");
    expect(
      await check(recording, async (_, task) => {
        await task.step("a", () => undefined);
        throw new Error("no such column");
      }),
    ).toMatchObject({ ok: false, problems: ["The handler throws: no such column"], end: "threw" });
    const tasks = createTasks({ store: memoryStore() });
    tasks.tool("report", { inputSchema: z.object({ month: z.string() }) }, () => text(""));
    expect(await checkReplay(tasks, recording)).toMatchObject({
      ok: false,
      problems: [expect.stringMatching(/^The recorded arguments are refused: .*month/s)],
      unreached: ["a"],
    });
  });
});

describe("what others end, and what is tried again", () => {
  const other: Handler = async (args, task) => {
    if (args["asks"] === true) await task.elicit("name", question);
    return text(`other of ${String(args["n"])}`);
  };

  it("is replayed where it has ended, and hangs where it has not", async () => {
    const handler: Handler = async (_, task) => {
      const first = await task.call("first", "other", { n: 1 });
      const flaky = task.step("flaky", { retries: 3 }, () => Promise.reject(new Error("not yet")));
      const paid = task.waitForEvent("paid", "paid");
      await Promise.all([flaky, paid, task.call("second", "other", { asks: true })]);
      return first;
    };
    const process = await Process.started({ tools: { report: handler, other } });
    const id = await process.callId("report");
    for (const key of ["flaky", "paid", "second"]) await process.journalHas(id, key);
    const recording = JSON.parse(JSON.stringify(await exportJournal(process.store, id))) as JournalRecording;
    expect(recording.entries.map(({ key, kind, doneAt }) => [key, kind, doneAt !== null])).toEqual(
      expect.arrayContaining([
        ["first", "call", true],
        ["flaky", "step", false],
        ["paid", "event", false],
        ["second", "call", false],
      ]),
    );
    expect(await check(recording, handler)).toEqual({ ...fine, added: [], end: "waits" });
    const changed = await check(recording, async (_, task) => {
      await task.call("first", "other", { n: 2 }).catch(() => undefined);
      await task.waitForEvent("paid", "refunded").catch(() => undefined);
      await task.sleep("flaky", 1).catch(() => undefined);
      return task.call("second", "other", { asks: true });
    });
    expect(changed.changed.map(({ key }) => key)).toEqual(["first", "paid", "flaky"]);
    expect(changed).toMatchObject({ ok: false, unreached: [], end: "waits" });
  });
});

describe("a task that has ended", () => {
  it("ends with code that does the same", async () => {
    const handler: Handler = async (_, task) => text(await task.step("a", () => "done"));
    const recording = await recorded(handler);
    const { outcome } = recording;
    expect(outcome).toEqual({ kind: "result", body: text("done") });
    expect(await check(recording, handler)).toEqual({ ...fine, added: [], end: "returned", outcome });
  });

  it("does not go on", async () => {
    const recording = await recorded(async (_, task) => text(await task.step("a", () => "done")));
    expect(await check(recording, replays("a", "b"))).toMatchObject({
      ok: false,
      problems: ['The recorded task had ended, but the handler goes on to "b".'],
      added: ["b"],
    });
  });

  it("was cut off where it was cancelled or its time was over, and may have thrown", async () => {
    const throws: Handler = async (_, task) => {
      await task.step("a", () => 1);
      throw new Error("no");
    };
    const threw = await recorded(throws);
    expect(threw.outcome?.kind).toBe("error_result");
    expect(await check(threw, throws)).toMatchObject({ ok: true, end: "threw" });
    const cancelled = { ...threw, state: "cancelled", outcome: undefined } as unknown as JournalRecording;
    expect(await check(cancelled, replays("a", "b"))).toMatchObject({ ok: true, added: ["b"] });
  });
});

describe("a handler that does something of its own", () => {
  it("is waited for", async () => {
    const recording = await recorded(steps("a", "b"), "b");
    const found = await check(recording, async (_, task) => {
      const beside = task.step("new", () => never);
      await delay(20);
      await task.step("a", () => never);
      await delay(20);
      await task.step("b", () => never);
      return beside;
    });
    expect(found).toEqual({ ...fine, added: ["new"], end: "waits" });
  });

  it("is waited for beside what lost a race, where the recorded task had ended", async () => {
    const withWork =
      (work: () => Promise<void>): Handler =>
      async (_, task) => {
        await Promise.race([task.sleep("long", 3_600_000), task.step("a", () => "done")]);
        await work();
        return text("end");
      };
    const recording = await recorded(withWork(async () => undefined));
    const found = await check(
      recording,
      withWork(() => delay(20)),
    );
    expect(found).toMatchObject({ ...fine, end: "returned" });
  });

  it("is given up when it does nothing else", async () => {
    const recording = await recorded(steps("a"), "a");
    const found = await check(
      recording,
      async (_, task) => {
        await task.step("a", () => never);
        return never;
      },
      { settleMs: 5 },
    );
    expect(found).toMatchObject({
      ok: false,
      end: "busy",
      problems: [
        "The handler did its own work for more than 5 ms. Move that work into a step, or raise settleMs.",
      ],
    });
  });
});

describe("prepare in the task", () => {
  const prepared: ToolConfig<undefined> = {
    requires: ["elicitation"],
    prepare: async (_, ask) => (await ask.elicit("who", question)).action as never,
  };
  const call = { generation: "2025-11-25", prepareInTask: true } as const;

  it("is replayed, asked or not", async () => {
    const asked = await recorded(replays(), '["holdfast/prepare","who"]', { config: prepared, ...call });
    expect(asked.prepareInTask).toBe(true);
    expect(await check(asked, replays("a"), { config: prepared })).toEqual({
      ...fine,
      added: [],
      end: "waits",
    });
    expect(await check(asked, replays("a"), { settleMs: 1 })).toMatchObject({
      unreached: ['["holdfast/prepare","who"]'],
    });
  });

  it("has its result in the journal, also for a tool that has no prepare any more", async () => {
    const key = '["holdfast/prepare"]';
    const handler: Handler = async (_, task) => text(String(task.prepared));
    const recording = await recorded(handler, undefined, {
      config: { prepare: () => "ready" as never },
      ...call,
    });
    expect(recording.entries).toMatchObject([{ key, value: "ready" }]);
    expect(await check(recording, handler)).toMatchObject({ ok: true, outcome: { body: text("ready") } });
  });
});

describe("versions", () => {
  it("are those of the task: of an older one the older handler runs, or the older branch", async () => {
    const recording = await recorded(steps("a"), "a");
    expect(recording.toolVersion).toBe(1);
    const branches: ToolHandler<Record<string, unknown>> = async (_, task) => {
      if (await task.version("new way", 2)) await task.step("b", () => never);
      else await task.step("a", () => never);
      return text("end");
    };
    const ended = { ok: true, added: [], end: "returned" };
    expect(await check(recording, branches, { config: { version: 2 } })).toMatchObject(ended);
    const [step] = recording.entries;
    if (step === undefined) throw new Error("It has a step.");
    const entries = [{ ...step, key: "new way", value: false }, step];
    expect(await check({ ...recording, entries }, branches, { config: { version: 2 } })).toMatchObject(ended);
    const older = { version: 2, olderVersions: { 1: { handler: replays("a") } } };
    expect(await check(recording, replays("b"), { config: older })).toMatchObject({
      ok: true,
      end: "returned",
    });
    await expect(check({ ...recording, toolVersion: 2 }, replays("a"))).rejects.toThrow(
      'The recorded task began with version 2 of tool "report", which has version 1 here',
    );
  });
});

it("drops the handler in such a way that it does nothing more", async () => {
  const recording = await recorded(steps("a"), "a");
  const told: string[] = [];
  await check(recording, async (_, task) => {
    task.signal.addEventListener("abort", () => told.push("aborted"));
    try {
      await task.step("a", () => never);
      return await task.step("new", () => told.push("new") as never);
    } catch {
      told.push("caught");
      throw new Error("no");
    } finally {
      told.push("finally");
    }
  });
  await delay(5);
  expect(told).toEqual([]);
});

it("says what is wrong with what it is given", async () => {
  const recording = await recorded(replays());
  const tasks = createTasks({ store: memoryStore() });
  await expect(checkReplay(tasks, recording)).rejects.toMatchObject({
    code: "configuration",
    message: 'These tasks have no tool "report".',
  });
  await expect(checkReplay(tasks, {} as JournalRecording)).rejects.toThrow(/holdfast journal export/);
  await expect(checkReplay({ ...tasks }, recording)).rejects.toThrow(/what createTasks returned/);
  await expect(checkReplay(tasks, recording, { settle: 1 } as CheckReplayOptions)).rejects.toThrow(
    /Did you mean settleMs/,
  );
});

it("events that came are what they were, and one that did not is waited for", async () => {
  const process = await Process.started({
    tools: {
      report: async (_, task) => {
        await task.waitForEvent("first", "paid");
        await task.waitForEvent("second", "paid", { timeoutMs: 1_000 });
        return text("");
      },
    },
  });
  const id = await process.callId("report");
  await process.runtime.sendEvent(id, { name: "paid", value: { sum: 1 } });
  await process.journalHas(id, "second");
  const recording = await exportJournal(process.store, id);
  const sums: unknown[] = [];
  const handler =
    (name: string): Handler =>
    async (_, task) => {
      sums.push(await task.waitForEvent("first", "paid"));
      await task.waitForEvent("second", name);
      return text("");
    };
  expect(await check(recording, handler("paid"))).toEqual({ ...fine, added: [], end: "waits" });
  expect(sums).toEqual([{ sum: 1 }]);
  expect((await check(recording, handler("refused"))).changed).toEqual([
    { key: "second", problem: expect.stringContaining('a wait for the event "refused"') as string },
  ]);
});

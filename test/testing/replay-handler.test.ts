import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type Tasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { exportJournal, replayHandler, type JournalRecording } from "holdfast/testing";
import { expect, it } from "vitest";
import { Process, text, type Handler } from "../runtime/harness.ts";

const question = { message: "Go on?", requestedSchema: { type: "object" as const, properties: {} } };

const steps =
  (...keys: readonly string[]): Handler =>
  async (_args, task) => {
    for (const key of keys) await task.step(key, () => key);
    return text((await task.elicit("go", question)).action);
  };

/** Tasks that wait, of a tool each. */
async function recorded(tools: Readonly<Record<string, Handler>>): Promise<readonly JournalRecording[]> {
  const process = await Process.started({ tools });
  const recordings: JournalRecording[] = [];
  for (const tool of Object.keys(tools)) {
    const id = await process.callId(tool);
    await process.asked(id);
    recordings.push(await exportJournal(process.store, id));
  }
  return recordings;
}

it("checks many recordings, in their order", async () => {
  const names = Array.from({ length: 30 }, (_, at) => `tool ${at}`);
  const recordings = await recorded(Object.fromEntries(names.map((name) => [name, steps("a", "b")])));
  const add = (tasks: Tasks): void => {
    for (const [at, name] of names.entries()) {
      if (at === 3) continue;
      tasks.tool(name, {}, at === 7 ? steps("a", "c") : steps("a", "b"));
    }
  };
  const fine = { ok: true, problems: [], unreached: [], renamed: {}, changed: [], added: [], end: "waits" };
  const { ok, journals } = await replayHandler(add, recordings, { settleMs: 20 });
  expect(ok).toBe(false);
  expect(journals).toMatchObject(
    recordings.map(({ taskId, tool }, at) => {
      const of = { taskId, tool, toolVersion: 1 };
      const lost = { ok: false, unreached: ["b", "go"], renamed: { b: "c" }, end: "waits" };
      const gone = { ok: false, problems: ['These tasks have no tool "tool 3".'], end: "blocked" };
      return { ...of, ...(at === 3 ? gone : at === 7 ? lost : fine) };
    }),
  );
});

it("takes tasks, and the function that makes a server for durable", async () => {
  const recordings = await recorded({ report: steps("a") });
  const tasks = createTasks({ store: memoryStore() });
  tasks.tool("report", {}, steps("a"));
  expect(await replayHandler(tasks, recordings)).toMatchObject({ ok: true });
  const makeServer = (): McpServer => {
    const server = new McpServer({ name: "reports", version: "1.0.0" });
    server.registerTool("report", { task: "optional" }, async (ctx) => {
      await ctx.task.step("a", () => "a");
      return text((await ctx.task.elicit("go", question)).action);
    });
    return server;
  };
  expect(await replayHandler({ durable: makeServer }, recordings)).toMatchObject({ ok: true });
});

it("refuses what is no recording", async () => {
  const checked = replayHandler(() => undefined, [{} as JournalRecording]);
  await expect(checked).rejects.toMatchObject({ code: "configuration" });
});

it("continues a loop with the round of the recording, and compares what its rounds do", async () => {
  const loops =
    (key: string, starts = (): void => undefined): Handler =>
    async (_args, task) => {
      await task.step("before", () => 1);
      return task.loop("loop", 1, async (state, round) => {
        starts();
        await round.step("same", () => state);
        if (state === 3) await round.elicit(key, question);
        return round.next(state + 1);
      });
    };
  const recordings = await recorded({ report: loops("go") });
  expect(recordings[0]?.entries.map(({ key }) => key)).toEqual([
    "before",
    "loop",
    '["loop","round 3","same"]',
    '["loop","round 3","go"]',
  ]);
  let begun = 0;
  const same = loops("go", () => void begun++);
  const fine = { ok: true, end: "waits", added: [], unreached: [] };
  const checked = await replayHandler((tasks) => tasks.tool("report", {}, same), recordings);
  expect(checked.journals).toMatchObject([fine]);
  expect(begun).toBe(1);
  const renamed = await replayHandler((tasks) => tasks.tool("report", {}, loops("other")), recordings, {
    settleMs: 20,
  });
  const [was, is] = ['["loop","round 3","go"]', '["loop","round 3","other"]'];
  expect(renamed.journals).toMatchObject([
    { ok: false, unreached: [was], added: [is], renamed: { [was]: is } },
  ]);
  const changed: Handler = async (_args, task) => {
    await task.step("before", () => 1);
    await task.loop("loop", 1, async (_state, round) => {
      await round.sleep("same", 1_000);
      return round.next(1);
    });
    return text("never");
  };
  const other = await replayHandler((tasks) => tasks.tool("report", {}, changed), recordings, {
    settleMs: 20,
  });
  expect(other.journals).toMatchObject([{ ok: false, changed: [{ key: '["loop","round 3","same"]' }] }]);
  // A round that ended without a question goes on to the next one, which the recording does not have.
  const ends = await replayHandler(
    (tasks) =>
      tasks.tool("report", {}, async (_args, task) => {
        await task.step("before", () => 1);
        await task.loop("loop", 1, async (state, round) => {
          await round.step("same", () => state);
          return round.next(1);
        });
        return text("never");
      }),
    recordings,
    { settleMs: 20 },
  );
  expect(ends.journals).toMatchObject([{ ok: false, unreached: [was], end: "waits" }]);
});

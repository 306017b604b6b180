import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { ToolConfig } from "../../src/runtime/tool/tool.ts";
import { memoryDatabase } from "../../src/store/sqlite/memory-store.ts";
import { wholeJournal } from "../../src/testing/sample-task.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import { FakeClock } from "../../src/testing/clocks.ts";
import { bodyOf, nobody, Process, text, type Handler, type Setup } from "./harness.ts";

const secondMs = 1_000;
const never = new Promise<never>(() => undefined);
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };

/** A step, and then nothing more. */
const hangs: Handler = async (_, task) => {
  await task.step("a", () => "a");
  return never;
};

/** Tells whether its task began under version 2. */
const tells: Handler = async (_, task) => {
  await task.step("a", () => "not again");
  const isNew = await task.version("new way", 2);
  await task.step(isNew ? "new" : "old", () => undefined);
  return text(isNew ? "new" : "old");
};

const reports = (config: ToolConfig<undefined>, handler: Handler): Setup => ({
  tools: { report: { config: { onCrash: "resume", ...config }, handler } },
});

async function versionsOf(process: Process, ids: readonly string[]): Promise<unknown[]> {
  return Promise.all(ids.map(async (id) => (await process.get(id)).task.toolVersion));
}

describe("a task keeps the version of its tool", () => {
  it("from its first start on, however it begins", async () => {
    const first = await Process.started({ ...reports({}, hangs), options: { concurrency: 2 } });
    const running = await first.callId("report");
    await first.journalHas(running, "a");
    const queued = await first.callId("report", { queued: true });
    await first.journalHas(queued, "a");
    const waiting = await first.callId("report");
    expect(await versionsOf(first, [running, queued, waiting])).toEqual([1, 1, null]);
    const second = await first.crash({ ...reports({ version: 4 }, hangs), options: { concurrency: 3 } });
    await second.journalHas(waiting, "a");
    expect(await versionsOf(second, [running, queued, waiting])).toEqual([1, 1, 4]);
  });

  it("where its call ran directly at first", async () => {
    const config = { version: 3, promoteAfterMs: 60_000 };
    const process = await Process.started(reports(config, tells));
    const { signal } = new AbortController();
    const call = { ...nobody, tool: "report", arguments: {}, origin: { capabilities: {} } };
    const end = await process.runtime.call(call, signal);
    if (end.kind !== "task") throw new Error("Its first step makes it a task.");
    expect(bodyOf(await process.ended(end.snapshot.task.id))).toEqual(text("new"));
    expect(await versionsOf(process, [end.snapshot.task.id])).toEqual([3]);
  });
});

describe("task.version", () => {
  it("sends tasks the old way that began before, and says so in the journal", async () => {
    const first = await Process.started(reports({}, hangs));
    const old = await first.callId("report");
    await first.journalHas(old, "a");
    const second = await first.crash(reports({ version: 2 }, tells));
    expect(bodyOf(await second.ended(old))).toEqual(text("old"));
    const fresh = await second.callId("report");
    expect(bodyOf(await second.ended(fresh))).toEqual(text("new"));
    const entry = (await wholeJournal(second.store, old)).find(({ key }) => key === "new way");
    expect(entry).toMatchObject({ kind: "step", value: "false" });
  });

  it("says yes to a call that is answered directly", async () => {
    const config = { version: 2, task: "forbidden" } as const;
    const process = await Process.started({ tools: { report: { config, handler: tells } } });
    expect(await process.runInline("report")).toMatchObject({ body: expect.stringContaining("new") });
  });

  it("knows no version that the tool has not, and no key that is something else", async () => {
    const asks =
      (key: string, since: number): Handler =>
      async (_, task) => {
        await task.step("a", () => "a");
        return text(String(await task.version(key, since)));
      };
    const tools = { newer: asks("v", 2), other: asks("a", 1), half: asks("v", 1.5) };
    const process = await Process.started({ tools });
    const said = async (tool: string): Promise<unknown> =>
      JSON.stringify(bodyOf(await process.ended(await process.callId(tool))));
    expect(await said("newer")).toContain(
      'task.version(\\"v\\", 2) asks for a version that the tool does not have: its version is 1.',
    );
    expect(await said("half")).toContain("whole number of at least 1, not 1.5");
    expect(await said("other")).toContain("was already used");
    const first = await Process.started({ tools: { report: hangs } });
    const id = await first.callId("report");
    await first.journalHas(id, "a");
    const second = await first.crash({
      tools: { report: async (_, task) => text(String(await task.version("a", 1))) },
    });
    const { task } = await second.until(id, ({ task: { blocked } }) => blocked !== undefined);
    expect(task.blocked).toMatchObject({ reason: "replay", key: "a", was: "a step", is: "task.version" });
  });
});

describe("a handler of an older version", () => {
  const month = z.object({ month: z.string().transform((name) => name.toUpperCase()) });
  const olderVersions = {
    1: {
      inputSchema: month,
      handler: async ({ month: name }: { month: string }, task: Parameters<Handler>[1]) =>
        text(`first ${name} ${await task.step("a", () => "not again")}`),
    },
  };
  const config = { version: 3, inputSchema: z.object({ from: z.number() }), olderVersions };

  it("goes on with the tasks of its version, with its own arguments", async () => {
    const first = await Process.started(reports({}, hangs));
    const id = await first.callId("report", { arguments: { month: "may" } });
    await first.journalHas(id, "a");
    const second = await first.crash(reports(config as unknown as ToolConfig<undefined>, () => text("now")));
    expect(bodyOf(await second.ended(id))).toEqual(text("first MAY a"));
    const fresh = await second.callId("report", { arguments: { from: 1 } });
    expect(bodyOf(await second.ended(fresh))).toEqual(text("now"));
  });

  it("leaves a version for which none is kept to the present one", async () => {
    const first = await Process.started(reports({ version: 2 }, hangs));
    const id = await first.callId("report");
    await first.journalHas(id, "a");
    const older = { version: 3, olderVersions: { 1: { handler: () => text("first") } } };
    const second = await first.crash(reports(older, tells));
    expect(bodyOf(await second.ended(id))).toEqual(text("new"));
  });

  it("is told of the cancel of a parked task", async () => {
    const asks: Handler = async (_, task) => text((await task.elicit("q", question)).action);
    const first = await Process.started(reports({}, asks));
    const id = await first.callId("report");
    await first.asked(id);
    const told: string[] = [];
    const hears =
      (name: string): Handler =>
      async (_, task) => {
        await task.elicit("q", question).catch(() => told.push(name));
        return text("");
      };
    const older = { version: 2, olderVersions: { 1: { handler: hears("older") } } };
    const second = await first.restart(reports(older, hears("newer")));
    await second.runtime.cancelNow(id, nobody);
    await expect.poll(() => told).toEqual(["older"]);
  });
});

/** Processes on one database, and one clock. */
class Host {
  readonly clock = new FakeClock();
  readonly #database = memoryDatabase();

  async start(setup: Setup): Promise<{ readonly process: Process; readonly crash: () => void }> {
    const store = new CrashableStore(undefined, this.#database);
    const process = new Process(setup, this.clock, store);
    await process.runtime.start();
    return { process, crash: () => store.crash() };
  }
}

describe("a process with an older version", () => {
  const older = (runs: string[]): Setup =>
    reports({}, () => {
      runs.push("older");
      return text("older");
    });

  it("leaves newer tasks to newer processes, and says so once", async () => {
    const host = new Host();
    const runs: string[] = [];
    const { process: newer, crash } = await host.start(reports({ version: 2 }, hangs));
    const ids = [await newer.callId("report"), await newer.callId("report")];
    for (const id of ids) await newer.journalHas(id, "a");
    const { process: old } = await host.start(older(runs));
    crash();
    await host.clock.advance(20 * secondMs);
    expect(old.errors).toEqual([
      expect.objectContaining({
        code: "newer_version",
        message: expect.stringMatching(
          /^Some tasks of tool "report" have version 2, but this process has version 1,/,
        ),
      }),
    ]);
    const own = await old.callId("report");
    expect(bodyOf(await old.ended(own))).toEqual(text("older"));
    expect(runs).toEqual(["older"]);
    const { process: next } = await host.start(reports({ version: 2 }, tells));
    await host.clock.advance(60 * secondMs);
    for (const id of ids) {
      const { task, ...snapshot } = await next.get(id);
      expect([task.state, bodyOf({ task, ...snapshot })]).toEqual(["settled", text("new")]);
    }
    expect(runs).toEqual(["older"]);
  });

  it("lets a newer process that has room have each of them first", async () => {
    const host = new Host();
    const { process: first, crash } = await host.start(reports({ version: 2 }, hangs));
    const ids = await Promise.all(Array.from({ length: 5 }, () => first.callId("report")));
    for (const id of ids) await first.journalHas(id, "a");
    await host.start(older([]));
    crash();
    await host.clock.advance(2 * secondMs); // the older one has met them
    const { process: next } = await host.start(reports({ version: 2 }, tells));
    await host.clock.advance(8 * secondMs);
    for (const id of ids) expect((await next.get(id)).task).toMatchObject({ state: "settled", attempt: 3 });
  });

  it("writes little while no newer one comes", async () => {
    const host = new Host();
    const { process: newer, crash } = await host.start(reports({ version: 2 }, hangs));
    const id = await newer.callId("report");
    await newer.journalHas(id, "a");
    const { process: old } = await host.start(older([]));
    crash();
    await host.clock.advance(60 * secondMs);
    const before = (await old.get(id)).task.attempt;
    await host.clock.advance(600 * secondMs);
    expect((await old.get(id)).task.attempt - before).toBeLessThanOrEqual(20);
  });

  it.each([
    ["has one slot", 1, { options: { concurrency: 1 } }],
    ["has a tool with a limit", 1, { tools: { other: { config: { concurrency: 1 }, handler: hangs } } }],
    ["is not the only one", 2, {}],
  ])("looks for a newer one once a second where a cancel waits for it and it %s", async (_, count, more) => {
    const host = new Host();
    const { process: newer, crash } = await host.start(reports({ version: 2 }, hangs));
    const id = await newer.callId("report");
    await newer.journalHas(id, "a");
    const setup = {
      ...more,
      tools: { ...older([]).tools, ...("tools" in more && more.tools) },
      options: { ...("options" in more && more.options), cancelGraceMs: 10 * secondMs },
    };
    const old: Process[] = [];
    for (let n = 0; n < count; n++) old.push((await host.start(setup)).process);
    crash();
    await host.clock.advance(2 * secondMs);
    await old[0]?.cancel(id);
    const attempts = async (): Promise<number> => (await old[0]?.get(id))?.task.attempt ?? 0;
    const before = await attempts();
    await host.clock.advance(5 * secondMs);
    expect((await attempts()) - before).toBeLessThanOrEqual(6);
  });

  it("ends newer tasks at the end of their life, and after the grace of a cancel", async () => {
    const host = new Host();
    const { process: newer, crash } = await host.start(
      reports({ version: 2, maxRunMs: 100 * secondMs }, hangs),
    );
    const [late, cancelled] = [await newer.callId("report"), await newer.callId("report")];
    for (const id of [late, cancelled]) await newer.journalHas(id, "a");
    const { process: old } = await host.start(older([]));
    crash();
    await host.clock.advance(2 * secondMs);
    await old.cancel(cancelled);
    await host.clock.advance(200 * secondMs);
    expect((await old.get(cancelled)).task.state).toBe("cancelled");
    expect((await old.get(late)).task).toMatchObject({ state: "settled", outcomeKind: "error" });
  });
});

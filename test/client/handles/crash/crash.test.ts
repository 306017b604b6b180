import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "vitest";
import { fullForm } from "../../../full-form.ts";
import { Office } from "./office.ts";
import { runClient } from "./run-client.ts";

/** Where a client can die after its call was kept and before it was told the end, in the order in which it gets there. */
const points = [
  "after the call is kept",
  "while the call asks",
  "before the round is kept",
  "after the round is kept",
  "before the task is kept",
  "after the task is kept",
  "while it waits",
  "while the task asks",
  "before the answer is kept",
  "after the answer is kept",
];

/** What is there only where a call asks before it is a task. */
const ofRounds = /round|while the call asks/;

async function open(context: TestContext): Promise<{ office: Office; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-handles-"));
  context.onTestFinished(async () => rm(folder, { recursive: true, force: true }));
  return { office: await Office.open(folder, context), folder };
}

function resultsIn(lines: readonly string[]): readonly string[] {
  return lines.filter((line) => line.startsWith("result"));
}

function resultOf(month: string): string {
  return `result ${JSON.stringify([{ type: "text", text: `accept accept ${month}` }])}`;
}

/** Questions that were asked although their answer had been kept. */
function askedTwice(lines: readonly string[]): readonly string[] {
  return lines.filter((line, at) => {
    const [word, ...key] = line.split(" ");
    return word === "asked" && lines.slice(0, at).includes(["kept", ...key].join(" "));
  });
}

/** For a slow machine: a run takes a fraction of it. */
describe.concurrent("a client that is killed", { timeout: 180_000 }, () => {
  it("loses no call, wherever that is, and does nothing twice", async (context) => {
    const { expect } = context;
    const { office, folder } = await open(context);
    const month = "2026-10";
    const run = { url: office.url, folder: join(folder, "handles") };
    const first = await runClient({ ...run, month, killed: office.arrival(month) });
    expect(first.signal).toBe("SIGKILL");
    const lines = [...first.lines];
    for (const point of points.slice(1)) {
      const next = await runClient({ ...run, point });
      expect(next.signal, point).toBe("SIGKILL");
      lines.push(...next.lines);
    }
    lines.push(...(await runClient(run)).lines);
    expect(resultsIn(lines)).toEqual([resultOf(month)]);
    expect(askedTwice(lines)).toEqual([]);
    expect(office.sent).toEqual([month]);
  });

  it("loses no call in 2025-11-25 either, where all questions are the task's", async (context) => {
    const { expect } = context;
    const { office, folder } = await open(context);
    const month = "2026-10";
    const run = { url: office.url, folder: join(folder, "handles"), version: "2025-11-25" };
    const first = await runClient({ ...run, month, point: "after the call is kept" });
    expect(first.signal).toBe("SIGKILL");
    const lines = [...first.lines];
    for (const point of points.filter((name) => !ofRounds.test(name)).slice(1)) {
      const next = await runClient({ ...run, point });
      expect(next.signal, point).toBe("SIGKILL");
      lines.push(...next.lines);
    }
    lines.push(...(await runClient(run)).lines);
    expect(resultsIn(lines)).toEqual([resultOf(month)]);
    expect(askedTwice(lines)).toEqual([]);
    expect(office.sent).toEqual([month]);
  });

  it.runIf(fullForm)("loses no call by one death at each point", async (context) => {
    const { expect } = context;
    const { office, folder } = await open(context);
    for (const [index, point] of points.entries()) {
      const run = { url: office.url, folder: join(folder, `handles-${index}`) };
      const first = await runClient({ ...run, point, month: point });
      expect(first.signal, point).toBe("SIGKILL");
      const lines = [...first.lines, ...(await runClient(run)).lines];
      expect(resultsIn(lines)).toEqual([resultOf(point)]);
      expect(askedTwice(lines), point).toEqual([]);
    }
    expect(office.sent.toSorted()).toEqual(points.toSorted());
  });

  it("is told the end again rather than not at all, where that was being told", async (context) => {
    const { expect } = context;
    const { office, folder } = await open(context);
    const run = { url: office.url, folder: join(folder, "handles") };
    const first = await runClient({ ...run, point: "before the task is dropped", month: "2026-10" });
    expect(first.signal).toBe("SIGKILL");
    const second = await runClient({ ...run, point: "after the task is dropped" });
    expect(resultsIn(second.lines)).toEqual([resultOf("2026-10")]);
    expect((await runClient(run)).lines).toEqual([]);
    expect(office.sent).toEqual(["2026-10"]);
  });

  it("has sent nothing that was not kept", async (context) => {
    const { expect } = context;
    const { office, folder } = await open(context);
    const run = { url: office.url, folder: join(folder, "handles") };
    const first = await runClient({ ...run, point: "before the call is kept", month: "2026-10" });
    expect(first.signal).toBe("SIGKILL");
    expect((await runClient(run)).lines).toEqual([]);
    expect(office.sent).toEqual([]);
  });
});

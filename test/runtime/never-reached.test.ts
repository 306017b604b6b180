import { describe, expect, it } from "vitest";
import { neverReached } from "../../src/runtime/execution/never-reached.ts";
import type { JournalKind } from "../../src/task/journal.ts";
import { bodyOf, nobody, Process, text, type Handler } from "./harness.ts";

const question = { message: "Go on?", requestedSchema: { type: "object" as const, properties: {} } };

/** Steps, and a question. */
const steps =
  (...keys: readonly string[]): Handler =>
  async (_args, task) => {
    for (const key of keys) await task.step(key, () => key);
    await task.elicit("go", question);
    return text(keys.join(" "));
  };

/** Begins with one handler, and ends with another. */
async function deployed(before: Handler, after: Handler): Promise<{ process: Process; id: string }> {
  const first = await Process.started({ tools: { report: before } });
  const id = await first.callId("report");
  await first.asked(id);
  const process = await first.restart({ tools: { report: after }, onEvent: true });
  await process.answer(id, "go", { action: "accept" });
  await process.ended(id);
  return { process, id };
}

async function logOf(process: Process, id: string): Promise<readonly unknown[]> {
  const lines = await process.runtime.lines(id, nobody, { list: "log", after: 0, limit: 9 });
  return lines.map(({ body }) => JSON.parse(body) as unknown);
}

const unreachedIn = ({ events }: Process): readonly unknown[] =>
  events.filter(({ type }) => type === "task.unreached");

describe("a handler that ends without coming to keys of its journal", () => {
  it("is reported by an event and in the log, and its task ends as it ended", async () => {
    const { process, id } = await deployed(steps("rows", "sum"), steps("records", "sum"));
    expect(bodyOf(await process.get(id))).toEqual(text("records sum"));
    expect(unreachedIn(process)).toMatchObject([
      { taskId: id, tool: "report", count: 1, keys: [{ key: "rows", renamedTo: "records" }] },
    ]);
    expect(process.events.map(({ type }) => type).slice(-2)).toEqual(["task.settled", "task.unreached"]);
    expect(await logOf(process, id)).toMatchObject([
      {
        level: "warning",
        text: expect.stringMatching(/keys of its journal: "rows" \(renamed to "records"\?\)\. /) as string,
      },
    ]);
  });

  it("is reported where it throws, and not where it is cancelled", async () => {
    const throws: Handler = async (_args, task) => {
      await task.elicit("go", question);
      throw new Error("no rows");
    };
    const { process, id } = await deployed(steps("rows"), throws);
    expect(await process.get(id)).toMatchObject({ outcome: { kind: "error_result" } });
    expect(unreachedIn(process)).toMatchObject([{ count: 1, keys: [{ key: "rows" }] }]);

    const first = await Process.started({ tools: { report: steps("rows") } });
    const cancelled = await first.callId("report");
    await first.asked(cancelled);
    const second = await first.restart({ tools: { report: throws }, onEvent: true });
    await second.asked(cancelled);
    await second.cancel(cancelled);
    await second.ended(cancelled);
    expect(unreachedIn(second)).toEqual([]);
  });

  it("is not one that comes to all of them, however often it runs again", async () => {
    const { process, id } = await deployed(steps("rows", "sum"), steps("sum", "rows", "new"));
    expect(unreachedIn(process)).toEqual([]);
    expect(await logOf(process, id)).toEqual([]);
  });

  it("names twenty keys, and says how many there are", async () => {
    const keys = Array.from({ length: 22 }, (_, at) => `key ${at}`);
    const { process, id } = await deployed(steps(...keys), steps());
    const [event] = unreachedIn(process) as readonly { count: number; keys: readonly unknown[] }[];
    expect([event?.count, event?.keys.length]).toEqual([22, 20]);
    expect(JSON.stringify(await logOf(process, id))).toContain("and 2 more");
  });
});

/** A journal of these entries, listed by their keys as stores do, and what a handler came to. */
function renamedIn(
  journal: readonly string[],
  reached: readonly string[],
): Readonly<Record<string, string | undefined>> {
  const entry = (word: string) => {
    const [key = "", kind = "step"] = word.split(":");
    return { key, kind: kind as JournalKind };
  };
  const listed = journal.map((word, place) => ({ ...entry(word), place }));
  const came = new Map(reached.map(entry).map(({ key, kind }) => [key, kind]));
  const lost = neverReached(
    listed.toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    came,
  );
  return Object.fromEntries(lost.map(({ key, renamedTo }) => [key, renamedTo]));
}

describe("a key may be renamed", () => {
  it.each([
    ["between the same two", ["c", "old", "a"], ["c", "new", "a"], { old: "new" }],
    ["at the beginning", ["old", "a"], ["new", "a"], { old: "new" }],
    ["at the end, before what is new", ["a", "old"], ["a", "new", "more"], { old: "new" }],
    ["in a journal of its own", ["old"], ["new"], { old: "new" }],
    ["before others that were lost", ["a", "old", "b"], ["a", "new"], { old: "new", b: undefined }],
    ["at two places", ["b", "a", "d", "c"], ["b2", "a", "d2", "c"], { b: "b2", d: "d2" }],
  ])("%s", (_, journal, reached, renamed) => {
    expect(renamedIn(journal, reached)).toEqual(renamed);
  });

  it.each([
    ["nothing stands in its place", ["a", "old", "b"], ["a", "b", "new"], { old: undefined }],
    ["two stand there", ["a", "old", "b"], ["a", "new", "more", "b"], { old: undefined }],
    ["two were lost there", ["a", "x", "y", "b"], ["a", "new", "b"], { x: undefined, y: undefined }],
    ["something else stands there", ["a", "old"], ["a", "new:sleep"], { old: undefined }],
  ])("not if %s", (_, journal, reached, lost) => {
    expect(renamedIn(journal, reached)).toEqual(lost);
  });

  it("and does not count if it was of a prepare that has ended", () => {
    const journal = ['["holdfast/prepare","who"]:input', '["holdfast/prepare"]', "a"];
    expect(renamedIn(journal, ['["holdfast/prepare"]', "a"])).toEqual({});
  });
});

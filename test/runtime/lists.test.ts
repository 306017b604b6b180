import { describe, expect, it } from "vitest";
import type { Requestor } from "../../src/runtime/runtime.ts";
import { Process, text, type Handler } from "./harness.ts";

const hello: Handler = () => text("hi");
const never = new Promise<never>(() => undefined);
const ann: Requestor = { generation: "2025-11-25", principal: "ann" };

const idsOf = async (process: Process, requestor = ann, page = { limit: 99 }): Promise<string[]> =>
  (await process.runtime.list(requestor, page)).map(({ id }) => id);

/** Each a millisecond after the one before, so that their order is known. */
async function called(process: Process, tool: string, requestors: readonly Requestor[]): Promise<string[]> {
  const ids: string[] = [];
  for (const requestor of requestors) {
    await process.clock.advance(1);
    ids.push(await process.callId(tool, requestor));
  }
  return ids;
}

describe("a list", () => {
  it("has the requestor's own tasks of its generation, newest first [A-35 A-39]", async () => {
    const process = await Process.started({ tools: { hello } });
    const owners: Requestor[] = [
      ann,
      { ...ann, principal: "bob" },
      { ...ann, generation: "2026-07-28" },
      { ...ann, principal: null },
      ann,
    ];
    const [first, bobs, later, nobodys, last] = await called(process, "hello", owners);
    expect(await idsOf(process)).toEqual([last, first]);
    expect(await idsOf(process, { ...ann, principal: "bob" })).toEqual([bobs]);
    expect(await idsOf(process, { ...ann, generation: "2026-07-28" })).toEqual([later]);
    expect(await idsOf(process, { ...ann, principal: null })).toEqual([nobodys]);
    expect(await idsOf(process, { ...ann, principal: "eve" })).toEqual([]);
  });

  it("goes on below the task that the last page ended with", async () => {
    const process = await Process.started({ tools: { hello } });
    const newestFirst = (await called(process, "hello", [ann, ann, ann])).reverse();
    const first = await process.runtime.list(ann, { limit: 2 });
    expect(first.map(({ id }) => id)).toEqual(newestFirst.slice(0, 2));
    const after = first[1]?.id ?? "";
    const rest = await process.runtime.list(ann, { after, limit: 2 });
    expect(rest.map(({ id }) => id)).toEqual(newestFirst.slice(2));
  });

  it("has what get shows, and nothing that is over [C-075]", async () => {
    const tools = {
      hello: { config: { ttlMs: 1_000 }, handler: hello },
      hang: { config: { ttlMs: null }, handler: (() => never) as Handler },
    };
    const process = await Process.started({ tools });
    const [done = "", open = ""] = [
      ...(await called(process, "hello", [ann])),
      ...(await called(process, "hang", [ann])),
    ];
    await process.until(open, () => true, ann);
    expect(await idsOf(process)).toEqual([open, done]);
    await process.clock.advance(999);
    expect(await idsOf(process)).toEqual([open]);
    await expect(process.runtime.get(done, ann)).rejects.toMatchObject({ code: "unknown_task" });
  });

  it("says how each task ended, with no body to read [A-09]", async () => {
    const fails: Handler = () => ({ ...text("no"), isError: true });
    const breaks: Handler = (_, task) => task.step("bad", () => [() => 1] as never);
    const process = await Process.started({ tools: { hello, fails, breaks, hang: () => never } });
    const kinds: Record<string, unknown> = {};
    for (const tool of ["hello", "fails", "breaks"]) {
      const [id = ""] = await called(process, tool, [ann]);
      await process.until(id, ({ outcome }) => outcome !== null, ann);
    }
    await called(process, "hang", [ann]);
    for (const task of await process.runtime.list(ann, { limit: 9 })) kinds[task.tool] = task.outcomeKind;
    expect(kinds).toEqual({ hello: "result", fails: "error_result", breaks: "error", hang: null });
  });

  it("needs a runtime that runs", async () => {
    const process = new Process({ tools: { hello } });
    await expect(idsOf(process)).rejects.toMatchObject({ code: "configuration" });
  });
});

describe("a ttl that the requestor asks for, of the whole task", () => {
  const tools = { hello: { config: { ttlMs: 5_000 }, handler: hello }, plain: hello };
  const requestedTtl = "task";
  const options = { ttlMs: 7_000, minTtlMs: 2_000, maxTtlMs: 9_000, requestedTtl } as const;
  const msOf = async (process: Process, tool: string, more: { readonly ttlMs?: number }) =>
    (await process.call(tool, more)).task.expiry;

  it("comes before the tool's and the server's, within bounds that hold for it alone [A-15 C-103]", async () => {
    const process = await Process.started({ tools, options });
    for (const [asked, given] of [
      [3_000, 3_000],
      [3_000.7, 3_000],
      [0, 2_000],
      [1_999, 2_000],
      [9_001, 9_000],
      [Number.MAX_VALUE, 9_000],
    ] as const) {
      expect(await msOf(process, "hello", { ttlMs: asked })).toEqual({ from: "created", ms: given });
    }
    expect(await msOf(process, "hello", {})).toEqual({ from: "created", ms: 5_000 });
    expect(await msOf(process, "plain", {})).toEqual({ from: "created", ms: 7_000 });
    const wide = await Process.started({ tools, options: { ttlMs: null, requestedTtl } });
    expect(await msOf(wide, "plain", {})).toEqual({ from: "created", ms: null });
    expect(await msOf(wide, "plain", { ttlMs: 0 })).toEqual({ from: "created", ms: 1_000 });
    expect(await msOf(wide, "plain", { ttlMs: 1e12 })).toEqual({ from: "created", ms: 30 * 24 * 3_600_000 });
  });

  it("of a tool and of a handler is not bounded", async () => {
    const extends_: Handler = async (_, task) => {
      await task.extend(60_000);
      return text("hi");
    };
    const process = await Process.started({
      tools: { long: { config: { ttlMs: 20_000 }, handler: hello }, extends_ },
      options,
    });
    expect(await msOf(process, "long", {})).toEqual({ from: "created", ms: 20_000 });
    const extended = await process.ended(await process.callId("extends_", { ttlMs: 3_000 }));
    expect(extended.task.expiry.ms).toBe(60_000);
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])("is refused where it is %s [A-15]", async (ttlMs) => {
    const process = await Process.started({ tools });
    await expect(process.call("hello", { ttlMs })).rejects.toMatchObject({ code: "invalid_params" });
  });
});

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { StoreLost } from "../../src/store/lost-store.ts";
import { rest } from "../../src/testing/clocks.ts";
import { Process, text, type Handler } from "./harness.ts";
import { storeFailed } from "./watched-store.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: {} };
const minute = 60_000;

async function calm(): Promise<void> {
  for (let round = 0; round < 20; round++) await rest();
}

describe("frames of handlers that wait", () => {
  it("are dropped after ten minutes, although one that waits for longer has done something since", async () => {
    const poke = Promise.withResolvers<void>();
    const asks: Handler = async ({ pokes }, task) => {
      if (pokes === true) void poke.promise.then(() => task.status("poked"));
      return text((await task.elicit("q", question)).action);
    };
    const process = await Process.started({ tools: { asks } });
    const poked = await process.callId("asks", { arguments: { pokes: true } });
    await process.until(poked, ({ task }) => task.waiting);
    await process.clock.advance(minute);
    const other = await process.callId("asks");
    await process.until(other, ({ task }) => task.waiting);
    await process.clock.advance(8 * minute);
    poke.resolve();
    await calm();
    await process.clock.advance(2 * minute);
    expect((await process.get(other)).task.state).toBe("queued");
    expect((await process.get(poked)).task.state).toBe("running");
  });

  it("leave nothing in memory while others keep theirs", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const frames: WeakRef<object>[] = [];
    const waits: Handler = async (_, task) => {
      const held = { task };
      frames.push(new WeakRef(held));
      await task.elicit("q", question, { timeoutMs: 9 * minute });
      return text(held.task.id);
    };
    const process = await Process.started({ tools: { waits }, options: { maxParkedFrames: 4 } });
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      const id = await process.callId("waits");
      ids.push(id);
      await process.until(id, ({ task }) => task.waiting);
    }
    await process.until(ids[0] ?? "", ({ task }) => task.state === "queued");
    for (let round = 0; round < 50 && frames[0]?.deref() !== undefined; round++) {
      await rest();
      collect();
    }
    expect(frames.map((frame) => frame.deref() === undefined)).toEqual([true, false, false, false, false]);
  });

  it("do not hold up a stop where the store fails: their tasks are parked at the next start", async () => {
    const tools = { asks: (async (_, task) => text((await task.elicit("q", question)).action)) as Handler };
    const process = await Process.started({
      tools,
      options: { maxParkedFrames: 0 },
      before: (call) => {
        if (call === "park") throw storeFailed();
      },
    });
    const id = await process.callId("asks");
    await calm();
    const next = await process.restart({ tools });
    expect((await next.get(id)).task).toMatchObject({
      state: "queued",
      waiting: true,
      lane: null,
      crashes: 0,
    });
    await next.answer(id, "q", yes);
    await next.ended(id);
  });

  it("are not complained of one by one where the store is lost", async () => {
    const tools = { asks: (async (_, task) => text((await task.elicit("q", question)).action)) as Handler };
    const process = await Process.started({
      tools,
      options: { maxParkedFrames: 0 },
      before: (call) => {
        if (call === "park") throw new StoreLost("The store", false);
      },
    });
    await process.callId("asks");
    await calm();
    expect(process.errors).toEqual([]);
  });
});

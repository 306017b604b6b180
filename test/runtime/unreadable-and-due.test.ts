import { describe, expect, it } from "vitest";
import { type FaultCode, HoldfastError } from "../../src/task/fault.ts";
import { Process, type Setup } from "./harness.ts";
import type { BeforeCall } from "./watched-store.ts";

const hour = 3_600_000;
const ttlMs = 1_000;

/** More than the sweeper takes at a time. */
const many = 250;

/** Lets `expire` reject for the tasks in `ids`; counts how often it was asked. */
function refusing(ids: ReadonlySet<string>, code: FaultCode) {
  const counts = { asked: 0, calls: 0 };
  const before: BeforeCall = (call, id = "") => {
    if (call === "due") counts.calls++;
    if (call !== "expire" || !ids.has(id)) return;
    counts.asked++;
    throw new HoldfastError(code, `Task ${id} cannot be read.`);
  };
  return { before, counts };
}

/** A process with `count` tasks that cannot be ended. */
async function started(code: FaultCode, count: number) {
  const damaged = new Set<string>();
  const { before, counts } = refusing(damaged, code);
  const hangs = {
    config: { onCrash: "resume" as const },
    handler: () => new Promise<never>(() => undefined),
  };
  const setup: Setup = { tools: { hangs }, options: { ttlMs, concurrency: 1 }, before };
  const process = await Process.started(setup);
  for (let made = 0; made < count; made++) damaged.add(await process.callId("hangs"));
  return { process, damaged, counts };
}

describe("tasks that are due and cannot be ended", () => {
  it.each<[string, FaultCode]>([
    ["they cannot be read", "task_unreadable"],
    ["the store refuses their end for good", "store_refused"],
  ])("are reported once where %s, and never tried again", async (_, code) => {
    const { process, damaged, counts } = await started(code, many);
    const last = await process.callId("hangs");
    await process.clock.advance(ttlMs);
    expect((await process.ended(last)).task.state).toBe("settled");
    const { calls } = counts;
    await process.clock.advance(hour);
    expect(counts.asked).toBe(damaged.size);
    expect(process.errors).toHaveLength(damaged.size);
    // A look a minute, as ever.
    expect(counts.calls - calls).toBeLessThan(70);
  });

  it("keep no others alive where the store fails at them alone", async () => {
    const { process } = await started("store_failed", 3);
    let last = "";
    for (let made = 0; made < many; made++) last = await process.callId("hangs");
    await process.clock.advance(ttlMs);
    expect((await process.ended(last)).task.state).toBe("settled");
  });
});

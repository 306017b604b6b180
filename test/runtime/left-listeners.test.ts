import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { nobody, text, type Handler } from "./harness.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const tasks = 40;

it.each([{}, { timeoutMs: 60_000 }])(
  "a listener that an author leaves on the signal of a step, with %o, keeps nothing of a task that has ended",
  async (options) => {
    const held: WeakRef<object>[] = [];
    const works: Handler = (_, task) =>
      task.step("s", options, ({ signal }) => {
        const frame = { task };
        held.push(new WeakRef(frame));
        signal.addEventListener("abort", () => void frame.task.id);
        return text("done");
      });
    const registry = new Registry();
    registry.add("works", {}, works);
    const runtime = createRuntime({ store: memoryStore(), registry });
    await runtime.start();
    for (let n = 0; n < tasks; n++) {
      const origin = { capabilities: {} };
      const call = { ...nobody, tool: "works", arguments: {}, origin };
      const { task } = await runtime.create(call);
      while ((await runtime.get(task.id, nobody)).task.finishedAt === null) await rest();
    }
    const kept = (): number => held.filter((each) => each.deref() !== undefined).length;
    // What the last tasks were made of may still be on its way out.
    for (let round = 0; round < 50 && kept() > tasks / 4; round++) {
      await rest();
      collectGarbage();
    }
    await runtime.stop();
    expect(held).toHaveLength(tasks);
    expect(kept()).toBeLessThanOrEqual(tasks / 4);
  },
);

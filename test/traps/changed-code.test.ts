import { expect, it } from "vitest";
import { bodyOf, Process, text, type Handler } from "../runtime/harness.ts";
import { wholeJournal } from "../../src/testing/sample-task.ts";

const never = new Promise<never>(() => undefined);

/** Two steps under names of their own; the first version never gets beyond them. */
const publishes =
  (runs: string[], [first, second]: readonly [string, string], last: () => unknown): Handler =>
  async (_, task) => {
    const a = await task.step(first, () => runs.push(first));
    const b = await task.step(second, () => runs.push(second));
    await task.step("last", last);
    return text(`${a} ${b}`);
  };

it("runs a renamed step under its new name, and leaves the old entry unreached", async () => {
  const runs: string[] = [];
  const before = publishes(runs, ["fetch", "render"], () => never);
  const after = publishes(runs, ["download", "render"], () => undefined);
  const first = await Process.started({ tools: { publish: before } });
  const id = await first.callId("publish");
  await first.journalHas(id, "render");
  const second = await first.crash({ tools: { publish: after } });
  // "render" gives back what it gave, and knows nothing of the step that now runs before it.
  expect(bodyOf(await second.ended(id))).toEqual(text("3 2"));
  expect(runs).toEqual(["fetch", "render", "download"]);
  expect((await wholeJournal(second.store, id)).map(({ key }) => key)).toEqual([
    "fetch",
    "render",
    "download",
    "last",
  ]);
});

it("lets a task end whose steps were put in another order, or taken out", async () => {
  const runs: string[] = [];
  const first = await Process.started({
    tools: {
      publish: publishes(runs, ["a", "b"], () => never),
      shrink: publishes(runs, ["c", "d"], () => never),
    },
  });
  const [turned, shrunk] = [await first.callId("publish"), await first.callId("shrink")];
  await first.journalHas(turned, "b");
  await first.journalHas(shrunk, "d");
  const second = await first.crash({
    tools: {
      publish: publishes(runs, ["b", "a"], () => undefined),
      shrink: () => text("nothing left to do"),
    },
  });
  expect(bodyOf(await second.ended(turned))).toMatchObject({ content: [{ type: "text" }] });
  expect(bodyOf(await second.ended(shrunk))).toEqual(text("nothing left to do"));
  expect(runs.toSorted()).toEqual(["a", "b", "c", "d"]);
});

it("blocks a task whose key has become another thing, says which, and goes on after a rollback", async () => {
  const gate = Promise.withResolvers<ReturnType<typeof text>>();
  const waits: Handler = (_, task) => task.step("pause", () => undefined).then(() => gate.promise);
  const first = await Process.started({ tools: { waits } });
  const id = await first.callId("waits");
  await first.journalHas(id, "pause");
  const second = await first.crash({
    tools: { waits: (_, task) => task.sleep("pause", 1_000).then(() => text("slept")) },
  });
  const { task } = await second.until(id, ({ task: { blocked } }) => blocked !== undefined);
  expect(task.blocked).toMatchObject({ key: "pause", was: "a step", is: "a sleep" });
  const third = await second.crash({ tools: { waits } });
  gate.resolve(text("rolled back"));
  expect(bodyOf(await third.ended(id))).toEqual(text("rolled back"));
});

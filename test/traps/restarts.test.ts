import { expect, it } from "vitest";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { bodyOf, text } from "../runtime/harness.ts";
import { useTempDirectory } from "../store/sqlite/temp-directory.ts";
import { RealRuntime, type RealHandler } from "./real-runtime.ts";
import { wholeJournal } from "../../src/testing/sample-task.ts";

const temp = useTempDirectory();
const restarts = 10;
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };

function next(tools: Readonly<Record<string, RealHandler>>): Promise<RealRuntime> {
  return RealRuntime.started(sqliteStore(temp.path()), tools);
}

it("ten orderly restarts cost a long task no crash and no finished step", async () => {
  const runs: number[] = [];
  const gates = Array.from({ length: restarts + 1 }, () => Promise.withResolvers<void>());
  const begun = gates.map(() => Promise.withResolvers<void>());
  const long: RealHandler = async (_, task) => {
    for (const [n, gate] of gates.entries()) {
      await task.step(["part", n], async () => {
        runs.push(n);
        begun[n]?.resolve();
        await gate.promise;
      });
    }
    return text(`attempt ${task.attempt}`);
  };

  let process = await next({ long });
  const id = await process.call("long");
  for (let n = 0; n < restarts; n++) {
    await begun[n]?.promise;
    const stopped = process.runtime.stop();
    gates[n]?.resolve(); // the step that is under way ends, and is kept; the next one begins in the next process
    await stopped;
    expect(process.errors).toEqual([]);
    process = await next({ long });
    expect((await process.get(id)).task.crashes).toBe(0);
  }
  gates[restarts]?.resolve();
  const { task, outcome } = await process.ended(id);
  expect(outcome?.body).toBe(JSON.stringify(text(`attempt ${restarts + 1}`)));
  expect(task).toMatchObject({ attempt: restarts + 1, crashes: 0 });
  expect(runs).toEqual(gates.map((_, n) => n));
  await process.runtime.stop();
});

it("ten orderly restarts leave questions and sleeps as they were", async () => {
  const asks: RealHandler = async (_, task) => text((await task.elicit("q", question)).action);
  const naps: RealHandler = async (_, task) => task.sleep("nap", 3_600_000).then(() => text("woke"));
  let process = await next({ asks, naps });
  const [asking, napping] = [await process.call("asks"), await process.call("naps")];
  const sleeping = await process
    .until(napping, ({ task }) => task.waiting)
    .then(() => wholeJournal(process.store, napping));
  for (let n = 0; n < restarts; n++) {
    await process.until(asking, ({ inputs }) => inputs.length === 1);
    await process.until(napping, ({ task }) => task.waiting);
    await process.runtime.stop();
    process = await next({ asks, naps });
  }
  expect(await wholeJournal(process.store, napping)).toEqual(sleeping);
  await process.until(napping, ({ task }) => task.waiting && task.crashes === 0);
  await process.answer(asking, "q", { action: "accept", content: {} });
  const ended = await process.ended(asking);
  expect(bodyOf(ended)).toEqual(text("accept"));
  expect(ended.task.crashes).toBe(0);
  await process.runtime.stop();
});

import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../src/task/fault.ts";
import { rest } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";
import { storeFailed, type BeforeCall, type StoreCall } from "./watched-store.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: {} };
const minute = 60_000;

async function calm(): Promise<void> {
  for (let round = 0; round < 20; round++) await rest();
}

/** What becomes of a handler whose process dies before its nth call of a kind reaches the store. */
async function crashBefore(
  call: StoreCall,
  nth: number,
  handler: Handler,
  meanwhile: (process: Process, id: string) => Promise<void> = async () => undefined,
): Promise<{ process: Process; id: string }> {
  const reached = Promise.withResolvers<void>();
  let seen = 0;
  const before: BeforeCall = async (made) => {
    if (made !== call || ++seen !== nth) return;
    reached.resolve();
    await new Promise(() => undefined);
  };
  const first = await Process.started({ tools: { tool: handler }, before });
  const id = await first.callId("tool");
  await meanwhile(first, id);
  await reached.promise;
  await calm();
  return { process: await first.crash({ tools: { tool: handler } }), id };
}

describe("a task is not parked before all is written that its handler waits for", () => {
  it("a question and the sleep that bounds it", async () => {
    const { process, id } = await crashBefore("sleep", 1, async (_, task) =>
      text(
        await Promise.race([
          task.elicit("q", question).then(({ action }) => action),
          task.sleep("late", minute).then(() => "late"),
        ]),
      ),
    );
    await process.until(id, ({ task }) => task.waiting && task.attempt === 2);
    await process.clock.advance(minute);
    expect(bodyOf(await process.ended(id))).toEqual(text("late"));
  });

  it("two questions that are put together", async () => {
    const { process, id } = await crashBefore("open_input", 2, async (_, task) => {
      await Promise.all([task.elicit("a", question), task.elicit("b", question)]);
      return text("both");
    });
    await process.asked(id, 2);
  });

  it("a question that follows from an answer, beside a sleep", async () => {
    const answerFirst = async (process: Process, id: string): Promise<void> => {
      await process.asked(id);
      await process.answer(id, "a", yes);
    };
    const inTurn: Handler = async (_, task) => {
      const late = task.sleep("late", 60 * minute);
      await task.elicit("a", question);
      await task.elicit("b", question);
      await late;
      return text("done");
    };
    const { process, id } = await crashBefore("open_input", 2, inTurn, answerFirst);
    const { inputs } = await process.asked(id);
    expect(inputs).toMatchObject([{ key: "b" }]);
  });
});

describe("a handler that rests is known to rest", () => {
  it("also where what was said of it came too late to be true", async () => {
    let marks = 0;
    const failing: BeforeCall = (call) => {
      if (call === "mark" && ++marks === 2) throw storeFailed();
    };
    const more = Promise.withResolvers<void>();
    const asks: Handler = async (_, task) => {
      await task.elicit("a", question);
      const b = task.elicit("b", question);
      void more.promise.then(() => task.elicit("d", question));
      await task.elicit("c", question);
      await b;
      return text("done");
    };
    const process = await Process.started({ tools: { asks }, before: failing });
    const id = await process.callId("asks");
    await process.asked(id);
    await process.answer(id, "a", yes);
    await process.asked(id, 2);
    await process.answer(id, "c", yes);
    await calm();
    expect(marks).toBe(2);
    more.resolve();
    await process.asked(id, 2);
    await process.clock.advance(minute);
    await process.until(id, ({ task }) => task.waiting);
  });

  it("and its frame is dropped, although it was looked at when its turn came", async () => {
    const asks: Handler = async (_, task) => text((await task.elicit("q", question)).action);
    const looking = Promise.withResolvers<void>();
    let reads = 0;
    const before: BeforeCall = async (call) => {
      if (call !== "journalEntry") return;
      reads++;
      // Whoever cannot read a question has its handler look at it.
      if (reads === 1) throw new HoldfastError("task_unreadable", "A page is damaged.");
      await looking.promise;
    };
    const process = await Process.started({ tools: { asks }, options: { maxParkedFrames: 1 }, before });
    const first = await process.callId("asks");
    await process.until(first, ({ task }) => task.waiting);
    await process.answer(first, "q", yes).catch(() => undefined);
    const second = await process.callId("asks");
    await process.until(second, ({ task }) => task.waiting);
    await calm();
    expect(reads).toBe(2);
    looking.resolve();
    await calm();
    await process.clock.advance(10 * minute);
    for (const id of [first, second]) expect((await process.get(id)).task.state).toBe("queued");
  });
});

import { describe, expect, it } from "vitest";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { bodyOf, Process, text, type Handler, type Setup } from "./harness.ts";

const never = new Promise<never>(() => undefined);
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const tooMany = expect.stringContaining("and maxJournalEntries is 3") as unknown;
const tooLarge = expect.stringContaining("and maxJournalBytes is 100") as unknown;

function resumable(handler: Handler, options: Setup["options"]): Setup {
  return {
    tools: { work: { config: { onCrash: "resume", park: false }, handler } },
    ...(options && { options }),
  };
}

/** Counts one more step than there is room for, and says what it ran. */
function steps(count: number, ran: string[], value: unknown = 1): Handler {
  return async (_, task) => {
    for (let n = 0; n < count; n++) await task.step(`s${n}`, () => (ran.push(`s${n}`), value));
    return text("done");
  };
}

describe("maxJournalEntries", () => {
  const options = { maxJournalEntries: 3 };

  it("lets as many steps run, and no function of one more", async () => {
    const ran: string[] = [];
    const process = await Process.started(resumable(steps(4, ran), options));
    const ended = await process.ended(await process.callId("work"));
    expect(bodyOf(ended)).toMatchObject({ code: -32000, message: tooMany });
    expect(ran).toEqual(["s0", "s1", "s2"]);
    const enough = await Process.started(resumable(steps(3, []), options));
    expect(bodyOf(await enough.ended(await enough.callId("work")))).toEqual(text("done"));
  });

  it.each<[string, (task: TaskContext) => Promise<unknown>]>([
    ["a step", (task) => task.step("more", () => 1)],
    ["a question", (task) => task.elicit("more", question)],
    ["a sleep", (task) => task.sleep("more", 1)],
    ["a wait for an event", (task) => task.waitForEvent("more", "paid")],
  ])("counts steps, questions and sleeps of all branches, and refuses %s", async (_, more) => {
    const process = await Process.started(
      resumable(async (__, task) => {
        const branches = [task.step("s", () => 1), task.sleep("nap", 1_000), task.elicit("q", question)];
        const refused: unknown = await more(task).catch((error: unknown) => error);
        await Promise.all(branches);
        return text(refused instanceof Error ? refused.message : "taken");
      }, options),
    );
    const id = await process.callId("work");
    await process.asked(id);
    await process.clock.advance(1_000);
    await process.answer(id, "q", { action: "accept", content: {} });
    expect(bodyOf(await process.ended(id))).toMatchObject({ content: [{ text: tooMany }] });
    expect(await process.store.journalEntry(id, "more")).toBeUndefined();
  });

  it("counts what earlier attempts journalled, and neither a replay nor a wait that goes on twice", async () => {
    const work =
      (last: boolean): Handler =>
      async (_, task) => {
        await task.step("a", () => 1);
        await task.step("b", () => 1);
        await task.elicit("q", question);
        if (last) await task.step("c", () => 1);
        return text("done");
      };
    const first = await Process.started(resumable(work(true), options));
    const id = await first.callId("work");
    await first.asked(id);
    const second = await first.crash(resumable(work(true), options));
    await second.until(id, ({ task }) => task.attempt === 2 && task.waiting);
    await second.answer(id, "q", { action: "accept", content: {} });
    expect(bodyOf(await second.ended(id))).toMatchObject({ code: -32000, message: tooMany });
  });
});

describe("maxJournalBytes", () => {
  const options = { maxJournalBytes: 100 };
  const sixty = "x".repeat(58);

  it("keeps a result that would exceed it from the journal, and says so there and to the handler", async () => {
    const ran: string[] = [];
    const process = await Process.started(resumable(steps(3, ran, sixty), options));
    const id = await process.callId("work");
    expect(bodyOf(await process.ended(id))).toMatchObject({ code: -32000, message: tooLarge });
    expect(ran).toEqual(["s0", "s1"]);
    expect(await process.store.journalEntry(id, "s1")).toMatchObject({ value: null, error: tooLarge });
  });

  it("bounds the errors of steps, too", async () => {
    const failing: Handler = async (_, task) => {
      await task.step("s", () => Promise.reject(new Error("x".repeat(200))));
      return text("unreachable");
    };
    const process = await Process.started(resumable(failing, options));
    const ended = await process.ended(await process.callId("work"));
    expect(bodyOf(ended)).toMatchObject({ code: -32000, message: tooLarge });
  });

  it("counts what earlier attempts journalled", async () => {
    const work =
      (hangs: boolean): Handler =>
      async (_, task) => {
        await task.step("a", () => sixty);
        if (hangs) await never;
        await task.step("b", () => sixty);
        return text("done");
      };
    const first = await Process.started(resumable(work(true), options));
    const id = await first.callId("work");
    await first.journalHas(id, "a");
    const second = await first.crash(resumable(work(false), options));
    expect(bodyOf(await second.ended(id))).toMatchObject({ code: -32000, message: tooLarge });
  });

  it("counts questions and answers: a question is refused, and an answer never", async () => {
    const asks: Handler = async (_, task) => {
      const { content } = await task.elicit("q", { message: "?", requestedSchema: question.requestedSchema });
      const refused: unknown = await task.elicit("r", question).catch((error: unknown) => error);
      return text(`${JSON.stringify(content)} ${refused instanceof Error ? refused.message : "asked"}`);
    };
    const process = await Process.started(resumable(asks, { maxJournalBytes: 200 }));
    const id = await process.callId("work");
    await process.asked(id);
    await process.answer(id, "q", { action: "accept", content: { a: "x".repeat(200) } });
    expect(bodyOf(await process.ended(id))).toMatchObject({
      content: [
        { text: expect.stringMatching(/^\{"a":"x{200}"\} With "r", .+ maxJournalBytes is 200/) as string },
      ],
    });
    expect(await process.store.journalEntry(id, "r")).toBeUndefined();
  });
});

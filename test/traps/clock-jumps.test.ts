import { expect, it } from "vitest";
import { bodyOf, Process, text, type Handler } from "../runtime/harness.ts";

const hour = 3_600_000;
const never = new Promise<never>(() => undefined);
const hang: Handler = () => never;
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: {} };

it("a clock that jumps ahead ends nothing early, and what expires still does", async () => {
  const process = await Process.started({ tools: { hang }, options: { ttlMs: 2 * hour } });
  const id = await process.callId("hang");
  process.clock.jump(2 * hour);
  await process.clock.advance(2 * hour - 1);
  expect((await process.get(id)).task.state).toBe("running");
  await process.clock.advance(1);
  expect(bodyOf(await process.ended(id))).toMatchObject({ message: "The task expired before it ended." });
});

it("a clock that jumps back ends nothing early, and what expires still does", async () => {
  const process = await Process.started({ tools: { hang }, options: { ttlMs: 2 * hour } });
  const id = await process.callId("hang");
  process.clock.jump(-hour);
  await process.clock.advance(3 * hour - 1);
  expect((await process.get(id)).task.state).toBe("running");
  await process.clock.advance(1);
  await process.ended(id);
  expect(process.errors).toEqual([]);
});

it("a finished task is neither forgotten too early nor shown too long", async () => {
  const setup = { tools: { hello: () => text("hi") }, options: { ttlMs: 2 * hour } };
  const process = await Process.started(setup);
  const id = await process.callId("hello");
  const ended = await process.ended(id);
  process.clock.jump(-hour);
  await process.clock.advance(2 * hour);
  expect(await process.get(id)).toEqual(ended);
  await process.clock.advance(hour);
  await expect(process.get(id)).rejects.toMatchObject({ code: "unknown_task" });
});

it.each([
  ["no longer than it says when the clock jumps ahead", 5 * hour, 0],
  ["longer by as much when the clock is set back", -5 * hour, 5 * hour],
])("the pause after crashes in a row is %s", async (_, jump, more) => {
  const tools = { poison: { config: { onCrash: "resume" as const, ttlMs: null }, handler: hang } };
  let process = await Process.started({ tools });
  const id = await process.callId("poison");
  for (const pauseMs of [0, 1_000, 2_000]) {
    process = await process.crash({ tools });
    process.clock.jump(jump);
    if (pauseMs > 0) {
      await process.clock.advance(pauseMs + more - 1);
      if (more > 0) expect((await process.get(id)).task.state).toBe("queued");
      await process.clock.advance(1);
    }
    await process.until(id, ({ task }) => task.state === "running");
  }
});

it("a jump ahead while nobody ran expires, wakes and gives up what was due, each as it should be", async () => {
  const tools: Record<string, Handler> = {
    hang,
    nap: (_, task) => task.sleep("nap", hour).then(() => text("woke")),
    asks: (_, task) =>
      task.elicit("q", question, { timeoutMs: hour }).then(
        () => text("answered"),
        (error: unknown) => text((error as { code: string }).code),
      ),
  };
  const first = await Process.started({ tools, options: { ttlMs: 10 * hour } });
  const [nap, asks] = [await first.callId("nap"), await first.callId("asks")];
  await first.until(nap, ({ task }) => task.waiting);
  await first.asked(asks);
  first.clock.jump(2 * hour);
  const second = await first.crash({ tools, options: { ttlMs: 10 * hour } });
  await second.clock.advance(1);
  expect(bodyOf(await second.ended(nap))).toEqual(text("woke"));
  expect(bodyOf(await second.ended(asks))).toEqual(text("input_timeout"));
});

it("an answer is taken, and cancels and steps go on, under a clock that was set back", async () => {
  const tools: Record<string, Handler> = {
    asks: async (_, task) => {
      const { action } = await task.elicit("q", question);
      return text(await task.step("after", () => action));
    },
    hang,
  };
  const process = await Process.started({ tools });
  const [asks, hung] = [await process.callId("asks"), await process.callId("hang")];
  await process.asked(asks);
  process.clock.jump(-48 * hour);
  await process.answer(asks, "q", yes);
  expect(bodyOf(await process.ended(asks))).toEqual(text("accept"));
  await process.cancel(hung);
  await process.clock.advance(5_000);
  expect((await process.ended(hung)).task.state).toBe("cancelled");
});

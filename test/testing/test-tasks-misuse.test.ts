import type { Tasks } from "holdfast";
import { testTasks } from "holdfast/testing";
import { expect, it } from "vitest";
import { text } from "../runtime/harness.ts";

const ask = { message: "Sure?", requestedSchema: { type: "object", properties: {} } } as const;
const impatient = { patienceMs: 200 };

function addTools(tasks: Tasks): void {
  tasks.tool("ask", {}, async (_, task) => text((await task.elicit("sure", ask)).action));
  tasks.tool("nap", {}, async (_, task) => (await task.sleep("nap", 5_400_000), text("awake")));
  tasks.tool("work", {}, async (_, task) => text(await task.step("work", () => "done")));
}

it("says what to give", async () => {
  const wrong: unknown[] = [undefined, { tool: () => undefined }];
  for (const register of wrong) {
    // @ts-expect-error: what JavaScript can give
    await expect(testTasks(register)).rejects.toThrow("testTasks takes a function that adds tools");
  }
  await using t = await testTasks(addTools);
  // @ts-expect-error: no unit that it knows
  await expect(t.clock.advance("2 weeks")).rejects.toThrow('"2 weeks" is not a length of time');
  await expect(t.start("work", {}).then((task) => task.assertJournal(["worked"]))).rejects.toThrow(
    'The journal has "work", not "worked".',
  );
  await expect(testTasks(addTools, { keepMs: -1 })).rejects.toMatchObject({ code: "configuration" });
});

it("says what a task waits for, where nothing moves on", async () => {
  await using t = await testTasks(addTools, impatient);
  const asks = await t.start("ask");
  await expect(asks.result()).rejects.toThrow('waits for the answer to "sure": await task.answer("sure", …)');
  await expect(asks.question("sore")).rejects.toThrow('No question "sore" was asked.');
  const naps = await t.start("nap");
  await expect(naps.result()).rejects.toThrow('sleeps ("nap"), in 90m: await t.clock.advance("90m")');
  await t.crash();
  await expect(naps.result()).rejects.toThrow("The server is down: await t.restart().");
});

it("says that a crash point was not reached", async () => {
  const t = await testTasks(addTools, impatient);
  const crashed = t.crash({ after: "wrok" });
  const task = await t.start("work");
  const missed = 'The crash point { after: "wrok" } was not reached. The journals have: "work".';
  await expect(task.result()).rejects.toThrow(missed);
  await expect(crashed).rejects.toThrow(missed);
  await expect(t.close()).rejects.toThrow(missed);
});

it("says that a crash point comes too late", async () => {
  await using t = await testTasks(addTools, impatient);
  await t.call("work");
  await expect(t.crash({ after: "work" })).rejects.toThrow("Call t.crash first.");
});

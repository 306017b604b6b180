import { TaskCallError, type Tasks } from "holdfast";
import { testTasks } from "holdfast/testing";
import { FakeClock } from "../../src/testing/clocks.ts";
import { expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod";
import { text } from "../runtime/harness.ts";

function addPublish(tasks: Tasks): void {
  tasks.tool("publish", { requires: ["elicitation"] }, async (_, task) => {
    const rows = await task.step("query", () => 2);
    const { action } = await task.elicit("approve", {
      message: `Send ${rows} rows?`,
      requestedSchema: { type: "object", properties: {} },
    });
    return text(action);
  });
}

it("waits for a question, and answers it", async () => {
  await using t = await testTasks(addPublish);
  const task = await t.start("publish");
  const { params, method } = await task.question("approve");
  expect([method, params["message"]]).toEqual(["elicitation/create", "Send 2 rows?"]);
  expect(await task.status()).toBe("input_required");
  await task.answer("approve", { action: "accept", content: {} });
  expect(await task.result()).toMatchObject(text("accept"));
  await task.assertJournal({ query: 2, approve: { action: "accept", content: {} } });
});

it("answers ahead, by what the question says", async () => {
  await using t = await testTasks(addPublish);
  t.answers({ approve: ({ message }) => ({ action: message === "Send 2 rows?" ? "decline" : "cancel" }) });
  expect(await t.call("publish")).toMatchObject(text("decline"));
});

it("keeps a question open over a crash, and answers it once", async () => {
  await using t = await testTasks(addPublish);
  const task = await t.start("publish");
  await task.question("approve");
  await t.crash();
  await t.restart();
  await task.answer("approve", { action: "decline" });
  expect(await task.result()).toMatchObject(text("decline"));
  expect(t.runs("query")).toBe(1);
});

it("dies when an answer comes, before or after it is stored", async () => {
  for (const point of [{ before: "approve" }, { after: "approve" }]) {
    await using t = await testTasks(addPublish);
    const crashed = t.crash(point);
    const task = await t.start("publish");
    const answered = task.answer("approve", { action: "accept" });
    await crashed;
    const entry = (await task.journal()).find(({ key }) => key === "approve");
    expect(entry?.doneAt === null).toBe("before" in point);
    await t.restart();
    await answered;
    expect(await task.result()).toMatchObject(text("accept"));
  }
});

function addReminder(tasks: Tasks): void {
  tasks.tool("remind", {}, async (_, task) => {
    await task.step("write", () => "mail");
    await task.sleep("nap", 48 * 3_600_000);
    return text(await task.step("send", () => "sent"));
  });
}

it("moves time: a task that sleeps goes on when its sleep is over, and not before", async () => {
  await using t = await testTasks(addReminder);
  const task = await t.start("remind");
  await t.clock.advance("47h");
  expect(await task.status()).toBe("working");
  await task.assertJournal(["write", "nap"]);
  await t.clock.advance("1h");
  expect(await task.result()).toMatchObject(text("sent"));
  expect([t.runs("write"), t.runs("send")]).toEqual([1, 1]);
});

it("lets time pass while the server is down, and dies as a sleep ends", async () => {
  await using t = await testTasks(addReminder);
  const task = await t.start("remind");
  await t.clock.advance("1h");
  await t.crash();
  await t.clock.advance("50h");
  const crashed = t.crash({ before: "nap" });
  await t.restart();
  await crashed;
  await t.restart();
  expect(await task.result()).toMatchObject(text("sent"));
  expect(t.runs("write")).toBe(1);
});

it("wakes tasks that were parked", async () => {
  await using t = await testTasks(addReminder, { maxParkedFrames: 0 });
  const tasks = await Promise.all([1, 2, 3].map(() => t.start("remind")));
  await t.clock.advance("2d");
  expect(await Promise.all(tasks.map((task) => task.result()))).toMatchObject(
    [1, 2, 3].map(() => text("sent")),
  );
  expect([t.runs("write"), t.runs("send")]).toEqual([3, 3]);
});

it("runs tries of steps and of handlers as time moves, over a restart", async () => {
  let failures = 3;
  await using t = await testTasks((tasks) => {
    tasks.tool("flaky", {}, async (_, task) => {
      const done = await task.step("call", { retries: 5, backoff: { firstMs: 60_000 } }, () => {
        if (failures-- > 0) throw new Error("not now");
        return "done";
      });
      return text(done);
    });
  });
  const task = await t.start("flaky");
  await t.clock.advance(0);
  expect(t.runs("call")).toBe(1);
  expect(await task.journal()).toMatchObject([{ key: "call", kind: "step", tries: 1, doneAt: null }]);
  await t.restart();
  await t.clock.advance("1h");
  expect(await task.result()).toMatchObject(text("done"));
  expect(t.runs("call")).toBe(4);
});

it("lets the time limit of a step pass that hangs", async () => {
  await using t = await testTasks(
    (tasks) => {
      tasks.tool("hang", {}, async (_, task) => {
        await task.step("ask", { timeoutMs: 30_000 }, () => new Promise(() => undefined));
        return text("never");
      });
    },
    { settleMs: 50 },
  );
  const task = await t.start("hang");
  await t.clock.advance("30s");
  expect(await task.result()).toMatchObject({ isError: true });
});

it("sends events, and calls other tools", async () => {
  const register = (tasks: Tasks): void => {
    const price = tasks.tool(
      "price",
      { inputSchema: z.object({ item: z.string() }) },
      async ({ item }, task) => {
        const { action } = await task.elicit("sure", {
          message: `Buy ${item}?`,
          requestedSchema: { type: "object", properties: {} },
        });
        return text(await task.step("look", () => (action === "accept" ? "3" : "0")));
      },
    );
    tasks.tool("buy", { requires: ["elicitation"] }, async (_, task) => {
      const { content } = await task.call("price", price, { item: "tea" }).catch((error: unknown) => {
        throw error instanceof TaskCallError ? new Error("no price", { cause: error }) : error;
      });
      const paid = await task.waitForEvent<{ sum: number }>("paid", "payment");
      return text(`${JSON.stringify(content)} for ${paid.sum}`);
    });
  };
  await using t = await testTasks(register);
  const crashed = t.crash({ before: "price" });
  const task = await t.start("buy");
  await task.question("sure");
  await task.answer("sure", { action: "accept" });
  await crashed;
  await t.restart();
  const paid = t.crash({ after: "paid" });
  const sent = task.sendEvent("payment", { sum: 3 });
  await paid;
  await t.restart();
  expect(await task.result()).toMatchObject(text('[{"type":"text","text":"3"}] for 3'));
  expect(t.runs("look")).toBe(1);
  void sent; // its process died before it said that it has the event
});

it("cancels, and goes on with calls that began before an orderly restart", async () => {
  await using t = await testTasks((tasks) => {
    addPublish(tasks);
    addReminder(tasks);
  });
  const [first, second] = [await t.start("publish"), await t.start("remind")];
  await first.question("approve");
  const result = second.result();
  await t.restart();
  await first.cancel();
  await expect(first.result()).rejects.toMatchObject({ code: "cancelled" });
  await t.clock.advance("48h");
  expect(await result).toMatchObject(text("sent"));
});

it("tells who calls, and uses the author's own server", async () => {
  await using t = await testTasks(
    (tasks) => tasks.tool("who", {}, async (_, task) => text(String(task.caller.principal))),
    { caller: "ann" },
  );
  expect(await t.call("who")).toMatchObject(text("ann"));
  expect((await t.client.sdk.listTools()).tools.map(({ name }) => name)).toContain("who");
});

it("lets a year pass with a few timers, whatever waits", async () => {
  const timers = vi.spyOn(FakeClock.prototype, "after");
  onTestFinished(() => timers.mockRestore());
  await using t = await testTasks((tasks) => {
    addPublish(tasks);
    tasks.tool("remind", {}, async (_, task) => {
      await task.sleep("months", "360d");
      return text("now");
    });
  });
  await t.start("publish");
  const reminder = await t.start("remind");
  await t.clock.advance("360d");
  expect(await reminder.result()).toMatchObject(text("now"));
  expect(timers.mock.calls.length).toBeLessThan(10_000); // a look each minute would be half a million
});

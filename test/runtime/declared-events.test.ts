import { McpServer } from "@modelcontextprotocol/server";
import type { Tasks } from "holdfast";
import { testTasks } from "holdfast/testing";
import { expect, it } from "vitest";
import * as z from "zod";
import { text } from "./harness.ts";

const events = {
  approved: z.object({ by: z.string().transform((by) => by.trim()), pages: z.number().default(1) }),
  paid: z.number(),
};

function addPublish(tasks: Tasks): void {
  tasks.tool("publish", { events }, async (_, task) => {
    const approved = await task.waitForEvent("approval", "approved");
    await task.step("publish", () => undefined);
    return text(`${approved.by} ${approved.pages}`);
  });
  tasks.tool("free", {}, async (_, task) => text(JSON.stringify(await task.waitForEvent("any", "thing"))));
  tasks.tool("mistaken", { events }, async (_, task) => {
    const waits = task.waitForEvent("approval", "aproved" as "approved");
    return text(
      String(
        await waits.then(
          () => "got it",
          (error: { code: string }) => error.code,
        ),
      ),
    );
  });
}

it("refuses an event that the tool does not declare, and a value that does not fit, where it is sent", async () => {
  await using t = await testTasks(addPublish);
  const task = await t.start("publish");
  await expect(task.sendEvent("aproved", { by: "ann" })).rejects.toMatchObject({
    code: "invalid_params",
    message: 'Tool "publish" declares no event "aproved", but "approved", "paid".',
  });
  await expect(task.sendEvent("approved", { by: 3 })).rejects.toMatchObject({
    code: "invalid_params",
    message: expect.stringMatching(
      /^The value of the event "approved" does not fit its schema: by: /,
    ) as string,
  });
  await expect(task.sendEvent("approved")).rejects.toMatchObject({ code: "invalid_params" });
  expect(await task.status()).toBe("working");
  const crashed = t.crash({ before: "publish" });
  await task.sendEvent("approved", { by: " ann " });
  await crashed;
  await t.restart();
  expect(await task.result()).toMatchObject(text("ann 1"));
});

it("takes any event of a tool that declares none, and none that a handler mistakes", async () => {
  await using t = await testTasks(addPublish);
  const task = await t.start("free");
  await task.sendEvent("thing", { a: 1 });
  expect(await task.result()).toMatchObject(text('{"a":1}'));
  expect(await t.call("mistaken")).toMatchObject(text("configuration"));
});

it("checks what was sent before the tool declared its events", async () => {
  let declares = false;
  await using t = await testTasks((tasks) => {
    tasks.tool("publish", { ...(declares && { events }) }, async (_, task) => {
      await task.sleep("wait", 1_000);
      const waits: Promise<unknown> = task.waitForEvent("approval", "approved");
      return text(
        String(
          await waits.then(
            () => "got it",
            (error: { code: string }) => error.code,
          ),
        ),
      );
    });
  });
  const task = await t.start("publish");
  await task.sendEvent("approved", { by: 3 });
  declares = true;
  await t.crash();
  await t.restart();
  await t.clock.advance("1s");
  expect(await task.result()).toMatchObject(text("input_failed"));
});

it("sends by the tool, and refuses events that are no schemas", async () => {
  const made: { send?: (id: string) => Promise<boolean> } = {};
  await using t = await testTasks((tasks) => {
    const tool = tasks.tool("publish", { events }, async (_, task) => {
      return text(String(await task.waitForEvent("payment", "paid")));
    });
    made.send = (id) => tool.sendEvent(id, "paid", 3, { dedupeId: "1" });
    // @ts-expect-error -- no schema
    expect(() => tasks.tool("wrong", { events: { paid: "3" } }, () => "done")).toThrow("events");
  });
  const task = await t.start("publish");
  expect(await made.send?.(task.id)).toBe(true);
  expect(await task.result()).toMatchObject(text("3"));
});

it("checks the events of a tool on the SDK", async () => {
  const durable = (): McpServer => {
    const server = new McpServer({ name: "reports", version: "1.0.0" });
    server.registerTool("publish", { task: { events } }, async ({ task }) => {
      return text(JSON.stringify(await task?.waitForEvent("approval", "approved")));
    });
    return server;
  };
  await using t = await testTasks({ durable });
  const task = await t.start("publish");
  await expect(task.sendEvent("aproved", {})).rejects.toMatchObject({ code: "invalid_params" });
  await task.sendEvent("approved", { by: "ann" });
  expect(await task.result()).toMatchObject(text('{"by":"ann","pages":1}'));
});

import type { Tasks } from "holdfast";
import { type TestOptions, testTasks } from "holdfast/testing";
import { expect, it } from "vitest";
import { text } from "../runtime/harness.ts";

function addScan(tasks: Tasks): void {
  tasks.tool("scan", { requires: ["elicitation"] }, async (_, task) => {
    const requestedSchema = {
      type: "object" as const,
      properties: {
        depth: { type: "string" as const, enum: ["flat", "deep"] },
        parts: {
          type: "array" as const,
          items: {
            anyOf: [
              { const: "a", title: "A" },
              { const: "b", title: "B" },
            ],
          },
        },
      },
      required: ["depth"],
    };
    const { action, content } = await task.elicit("depth", { message: "How deep?", requestedSchema });
    return text(`${action} ${JSON.stringify(content)}`);
  });
  tasks.tool("wide", { requires: ["elicitation"] }, async (_, task) => {
    const found = await task.call("scan", "scan", {});
    return { ...found };
  });
  tasks.tool("ends", {}, () => text("over"));
}

const accept = (content: Record<string, string | string[]>) => ({ action: "accept" as const, content });

const clients: readonly TestOptions[] = [
  { protocolVersion: "2026-07-28" },
  { protocolVersion: "2025-11-25" },
  { generation: "sep-1686" },
];

it.each(clients)("says why an answer is refused, and takes the next one (%o)", async (speaks) => {
  await using t = await testTasks(addScan, speaks);
  const task = await t.start("scan");
  await task.question("depth");
  await expect(task.answer("depth", accept({ depth: "zzz" }))).rejects.toThrow(
    /^The answer to "depth" does not fit the question: .*"depth" takes one of "flat", "deep"\. The question is still open: answer it again\.$/,
  );
  await expect(task.answer("depth", accept({ depth: "flat", parts: ["a", "c"] }))).rejects.toThrow(
    '"parts" takes any of "a", "b"',
  );
  await expect(task.answer("depth", accept({}))).rejects.toThrow("depth");
  expect(await task.status()).toBe("input_required");
  await task.answer("depth", accept({ depth: "deep" }));
  expect(await task.result()).toMatchObject(text('accept {"depth":"deep"}'));
});

it("refuses an answer of a kind that the question has not, and one that is too large", async () => {
  await using t = await testTasks(addScan, { maxBodyBytes: 2_000 });
  const task = await t.start("wide");
  // @ts-expect-error: no answer to a form
  await expect(task.answer("depth", { action: "later" })).rejects.toThrow("does not fit the question");
  await expect(task.answer("depth", accept({ depth: "x".repeat(3_000) }))).rejects.toThrow(
    'The answer to "depth" is larger than 2000 bytes.',
  );
  await task.answer("depth", { action: "decline" });
  expect(await task.result()).toMatchObject(text("decline undefined"));
});

it("says that an answer given ahead is refused, and leaves its question open", async () => {
  await using t = await testTasks(addScan);
  t.answers({ depth: () => accept({ depth: "zzz" }) });
  const task = await t.start("scan");
  await expect(task.result()).rejects.toThrow(
    '"depth" takes one of "flat", "deep". It was given with t.answers.',
  );
  await t.clock.advance("1h");
  expect(await task.status()).toBe("input_required");
  t.answers({ depth: accept({ depth: "flat" }) });
  expect(await task.result()).toMatchObject(text('accept {"depth":"flat"}'));
});

it("does not wait for what a task that has ended does no more", async () => {
  await using t = await testTasks(addScan);
  const task = await t.start("ends");
  const ended = `No question "depth" was asked. Task ${task.id} of "ends" has ended.`;
  await expect(task.question("depth")).rejects.toThrow(ended);
  await expect(task.answer("depth", accept({}))).rejects.toThrow(ended);
  await expect(task.sendEvent("paid")).rejects.toThrow("The task has already ended");
});

it.each(clients)(
  "waits for nothing once the server is down, though the task has ended (%o)",
  async (speaks) => {
    const t = await testTasks(addScan, { ...speaks, patienceMs: 200 });
    const crashed = t.crash({ after: "depth" });
    const asked = await t.start("scan");
    const over = await t.start("ends");
    // The server may have said that it has the answer before it died.
    await Promise.allSettled([asked.answer("depth", accept({ depth: "flat" })), crashed]);
    await expect(asked.cancel()).rejects.toThrow("The server is down: await t.restart().");
    for (const task of [asked, over]) {
      await expect(task.question("more")).rejects.toThrow("The server is down: await t.restart().");
      await expect(task.sendEvent("paid")).rejects.toThrow("The server is down: await t.restart().");
    }
    await expect(asked.result()).rejects.toThrow("The server is down: await t.restart().");
    await t.close();
  },
);

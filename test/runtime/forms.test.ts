import type { HoldfastError, Prepare, Tasks } from "holdfast";
import { testTasks } from "holdfast/testing";
import { expect, it } from "vitest";
import * as z from "zod";
import { encodeJournalKey } from "../../src/task/journal.ts";
import { text } from "./harness.ts";

const requestedSchema = z.object({
  depth: z.enum(["flat", "deep"]).meta({ title: "Depth" }),
  pages: z.int().min(1).default(3),
  mail: z.email().optional(),
  name: z.string().transform((name) => name.trim()),
});

const accept = (content: Record<string, string | number>) => ({ action: "accept" as const, content });

function reasonOf(asked: Promise<unknown>): Promise<string> {
  return asked.then(
    () => "answered",
    (error: HoldfastError) => `${error.code}: ${error.message}`,
  );
}

function addScan(tasks: Tasks): void {
  tasks.tool("scan", {}, async (_, task) => {
    const answer = await task.elicit("depth", { message: "How deep?", requestedSchema });
    await task.step("wait", () => undefined);
    return text(JSON.stringify(answer.content ?? answer.action));
  });
}

it("asks clients by the JSON Schema of a schema, and gives the handler what the schema makes of the answer", async () => {
  await using t = await testTasks(addScan);
  const task = await t.start("scan");
  const { params } = await task.question("depth");
  expect(params).toMatchObject({
    mode: "form",
    requestedSchema: {
      type: "object",
      required: ["depth", "name"],
      properties: {
        depth: { type: "string", enum: ["flat", "deep"], title: "Depth" },
        pages: { type: "integer", minimum: 1, default: 3 },
        mail: { type: "string", format: "email" },
        name: { type: "string" },
      },
    },
  });
  await expect(task.answer("depth", accept({ depth: "flat", name: "a", mail: "no" }))).rejects.toThrow(
    "mail",
  );
  const crashed = t.crash({ before: "wait" });
  await task.answer("depth", accept({ depth: "deep", name: " ann " }));
  await crashed;
  await t.restart();
  expect(await task.result()).toMatchObject(text('{"depth":"deep","pages":3,"name":"ann"}'));
});

it("passes on that the user declined", async () => {
  await using t = await testTasks(addScan);
  t.answers({ depth: { action: "decline" } });
  expect(await t.call("scan")).toMatchObject(text('"decline"'));
});

it("rejects an answer that breaks a rule which JSON Schema cannot say, on a replay too", async () => {
  const even = z.object({ pages: z.number().refine((pages) => pages % 2 === 0, "not even") });
  await using t = await testTasks((tasks) => {
    tasks.tool("scan", {}, async (_, task) => {
      const asked = task.elicit("pages", { message: "How many?", requestedSchema: even });
      const why = await reasonOf(asked);
      await task.step("wait", () => undefined);
      return why;
    });
  });
  const task = await t.start("scan");
  const crashed = t.crash({ before: "wait" });
  await task.answer("pages", accept({ pages: 3 }));
  await crashed;
  await t.restart();
  const why = 'input_failed: The answer to "pages" does not fit its schema: pages: not even';
  expect(await task.result()).toMatchObject(text(why));
});

it("refuses a schema that is no form, and names what is not", async () => {
  const nested: { schema: z.ZodType } = { schema: z.object({ name: z.string(), home: z.object({}) }) };
  await using t = await testTasks((tasks) => {
    tasks.tool("scan", {}, async (_, task) => {
      const asked = task.elicit("who", {
        message: "Who?",
        requestedSchema: nested.schema as z.ZodObject<{}>,
      });
      return reasonOf(asked);
    });
  });
  expect(JSON.stringify(await t.call("scan"))).toMatch(
    /configuration: The question \\"who\\" cannot be asked with this schema\..*properties\.home/,
  );
});

it.each([{}, { message: 5 }, undefined])("refuses a question without a message: %j", async (params) => {
  await using t = await testTasks((tasks) => {
    tasks.tool("scan", {}, async (_, task) => reasonOf(task.elicit("who", params as never)));
  });
  expect(JSON.stringify(await t.call("scan"))).toContain(
    'configuration: The question \\"who\\" has no message',
  );
});

it("asks by a schema in prepare too, in rounds and in the task", async () => {
  const add = (tasks: Tasks): void => {
    const prepare: Prepare<unknown, string> = async (_, ask) => {
      const answer = await ask.elicit("depth", { message: "How deep?", requestedSchema });
      return answer.action === "accept" ? `${answer.content.depth} ${answer.content.pages}` : answer.action;
    };
    tasks.tool("scan", { prepare }, async (_args, task) => text(task.prepared));
  };
  for (const protocolVersion of ["2026-07-28", "2025-11-25"] as const) {
    await using t = await testTasks(add, { protocolVersion });
    const answer = accept({ depth: "deep", name: "ann" });
    t.answers({ depth: answer, [encodeJournalKey(["holdfast/prepare", "depth"])]: answer });
    expect(await t.call("scan")).toMatchObject(text("deep 3"));
  }
});

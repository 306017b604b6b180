import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { ToolConfig } from "../../src/runtime/tool/tool.ts";
import { nobody, Process, type Handler, type Setup } from "./harness.ts";

const long = "é".repeat(1_000);

const options = { maxBodyBytes: 1_000 };

function returning(returned: unknown, before: Handler = async () => ({ content: [] })): Setup {
  const config = { largeResults: "link" } as const;
  const handler: Handler = async (args, task) => {
    await before(args, task);
    return returned as never;
  };
  return { tools: { work: { config, handler } }, options };
}

async function resultOf(setup: Setup): Promise<{ readonly result: unknown; readonly stored: string[] }> {
  const process = await Process.started(setup);
  onTestFinished(() => process.runtime.stop());
  const id = await process.callId("work");
  const { outcome } = await process.ended(id);
  const stored: string[] = [];
  for (const { name } of await process.runtime.artifacts(id, nobody)) {
    for (let from = 0, size = 1; from < size;) {
      const part = await process.runtime.artifact(id, nobody, { name, from, bytes: 1_000 });
      size = part?.artifact.bytes ?? 0;
      if (from === 0) stored.push(name, "");
      stored.push((stored.pop() ?? "") + (part?.data.toString("latin1") ?? ""));
      from += part?.data.length ?? size;
    }
  }
  const result: unknown = JSON.parse((outcome?.body ?? "").replaceAll(id, "ID"));
  return { result, stored: stored.map((each) => Buffer.from(each, "latin1").toString("utf8")) };
}

test("a result above the limit fails with an error that names the limit and the option", async () => {
  const setup: Setup = { tools: { work: async () => long }, options };
  const process = await Process.started(setup);
  const { outcome } = await process.ended(await process.callId("work"));
  expect(JSON.parse(outcome?.body ?? "")).toMatchObject({
    message: "The result of tool work is larger than 1000 bytes, the most that maxBodyBytes allows.",
  });
});

test("a single text above the limit becomes a link to the text, where the tool says so", async () => {
  const { result, stored } = await resultOf(returning(long));
  const uri = "task://ID/artifact/result.txt";
  const text = `The result has 2000 bytes, too many for an answer. It is stored as result.txt: read the resource ${uri}, in parts if it is large.`;
  expect(result).toEqual({
    content: [
      { type: "text", text },
      { type: "resource_link", uri, name: "result.txt", mimeType: "text/plain", size: 2_000 },
    ],
  });
  expect(stored).toEqual(["result.txt", long]);
});

test("any other result becomes a link to the whole of it, and stays a failure if it was one", async () => {
  const content = [
    { type: "text", text: "first" },
    { type: "text", text: long },
  ];
  const { result, stored } = await resultOf(returning({ content, isError: true }));
  expect(result).toMatchObject({
    isError: true,
    content: [{ type: "text" }, { name: "result.json", mimeType: "application/json" }],
  });
  expect([stored[0], JSON.parse(stored[1] ?? "")]).toEqual(["result.json", { content, isError: true }]);
});

test("one within the limit stays as it is, and a name that the handler uses is not used again", async () => {
  expect((await resultOf(returning("short"))).result).toEqual({ content: [{ type: "text", text: "short" }] });
  const taken = returning(long, async (_, task) => ({ content: [await task.artifact("result.txt", "own")] }));
  expect((await resultOf(taken)).stored).toEqual(["result.txt", "own", "result-2.txt", long]);
});

test("a crash before the end of the task has the result stored once", async () => {
  let runs = 0;
  const setup = returning(long, async (_, task) => {
    runs++;
    return (await task.step("s", () => ""), { content: [] });
  });
  let crashes = true;
  const crashed = Promise.withResolvers<void>();
  const before: Setup["before"] = async (call) => {
    if (call !== "settle" || !crashes) return;
    crashed.resolve();
    await new Promise(() => undefined);
  };
  const first = await Process.started({ ...setup, before });
  const id = await first.callId("work");
  await crashed.promise;
  crashes = false;
  const second = await first.crash(setup);
  const { outcome } = await second.ended(id);
  expect(outcome?.body).toContain(`task://${id}/artifact/result.txt`);
  expect([runs, (await second.runtime.artifacts(id, nobody)).length]).toEqual([2, 1]);
});

test("the option is refused where no link can be given", async () => {
  const start = (config: ToolConfig<undefined>): Promise<Process> =>
    Process.started({ tools: { work: { config, handler: async () => ({ content: [] }) } } });
  const largeResults = "link" as const;
  await expect(start({ largeResults, task: "forbidden" })).rejects.toMatchObject({
    code: "configuration",
    message:
      'Tool "work": largeResults: "link" needs a task, which task: "forbidden" rules out: remove one of the two.',
  });
  const described = { largeResults, outputSchema: z.object({}) } as ToolConfig<undefined>;
  await expect(start(described)).rejects.toMatchObject({ code: "configuration" });
  await expect(start({ largeResults: "cut" as never })).rejects.toMatchObject({ code: "configuration" });
});

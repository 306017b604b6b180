import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveHttp } from "holdfast/http";
import { expect, onTestFinished, test, vi } from "vitest";
import { StatelessClient } from "../kit/stateless-client.ts";

test("the timeline of a task says which limit its steps wait for", async () => {
  const held = Promise.withResolvers<void>();
  const tasks = createTasks({ store: memoryStore(), limits: { api: { concurrency: 1 } } });
  tasks.tool("call", {}, async (_, task) => {
    await task.step("ask", { limit: ["api", "ann"] }, () => held.promise);
    return "done";
  });
  const http = await serveHttp(
    tasks.server(() => new McpServer({ name: "limits", version: "1.0.0" })),
    { port: 0 },
  );
  onTestFinished(() => http.close());
  const client = new StatelessClient(http.url);
  await client.call("call", {});
  await client.call("call", {});
  const waits = async () => (await tasks.admin.list({ waitsFor: ["limit"] })).tasks;
  await vi.waitUntil(async () => (await waits()).length === 1);
  const [waiting] = await waits();
  const { timeline, timelineSummary } = await tasks.admin.show(waiting?.id ?? "");
  expect(timeline).toEqual([
    expect.objectContaining({ key: "ask", kind: "step", doneAt: null, limit: '["api","ann"]' }),
  ]);
  expect(timelineSummary).toMatchObject({ entries: 1, open: 1 });
  held.resolve();
  await vi.waitUntil(async () => (await tasks.admin.list({ states: ["completed"] })).tasks.length === 2);
  const { timeline: ended } = await tasks.admin.show(waiting?.id ?? "");
  expect(ended).toEqual([expect.not.objectContaining({ limit: expect.anything() as unknown })]);
});

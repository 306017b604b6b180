import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { createFetchHandler } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import type { TaskState } from "../../src/task/outcome.ts";
import { text } from "../kit/messages.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

it.each<[string, object, TaskState]>([
  ["cancels the task of a caller who left before its id could be told [A-32]", {}, "cancelled"],
  [
    "keeps the task where its caller can ask again by its key [A-32]",
    { "holdfast/idempotencyKey": "k".repeat(22) },
    "settled",
  ],
])("%s", async (_, meta, expected) => {
  const store = memoryStore();
  const write = store.write.bind(store);
  const inserting = Promise.withResolvers<string>();
  const left = Promise.withResolvers<void>();
  store.write = async (command) => {
    if (command.type === "create") {
      inserting.resolve((command as { task: { id: string } }).task.id);
      await left.promise;
    }
    return write(command);
  };
  const tasks = createTasks({ store, stopDeadlineMs: 100 });
  // ends as soon as it is left alone, or as soon as it is cancelled
  tasks.tool("slow", {}, async (__, task) => {
    if (expected === "settled") return text("done");
    await new Promise((_resolve, reject) => {
      task.signal.addEventListener("abort", () => reject(task.signal.reason as Error));
    });
    return text("never");
  });
  const handler = createFetchHandler(
    tasks.server(() => new McpServer({ name: "reports", version: "1.2.3" })),
  );
  await tasks.start();
  onTestFinished(() => tasks.stop());

  const peer = new StatelessClient("http://localhost/mcp", (url, init) => {
    const request = new Request(url, init);
    request.headers.set("host", "localhost");
    return handler.fetch(request);
  });
  const caller = new AbortController();
  const answered = peer.call("slow", {}, { meta, signal: caller.signal });
  const id = await inserting.promise;
  caller.abort();
  await expect(answered).rejects.toThrow(); // there is nobody to answer
  left.resolve();
  let task = await store.get(id);
  while (task?.state !== expected) {
    await new Promise((resolve) => setImmediate(resolve));
    task = await store.get(id);
  }
  expect(task.cancelRequestedAt === null).toBe(expected === "settled");
});

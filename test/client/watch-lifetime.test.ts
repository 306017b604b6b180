import { queryObjects } from "node:v8";
import { expect, it } from "vitest";
import { TaskWatch } from "../../src/client/task/task-watch.ts";
import type { TaskReference } from "../../src/client/task/remote-task.ts";
import type { TaskClient } from "../../src/client/task-client.ts";
import { approval, asking, completed, created, sent } from "./answers.ts";
import { setUp } from "./setup.ts";

const calls = 50;

/** Those that a full collection of garbage leaves. */
function watches(): number {
  return queryObjects(TaskWatch, { format: "count" });
}

/** Starts a call, and drops its handle. */
async function leave(client: TaskClient): Promise<TaskReference | null> {
  const { reference } = await client.startTool("publish_report");
  return reference;
}

it("frees the watch of a task whose handle was collected", async () => {
  const { server, client } = await setUp();
  const before = watches();
  const answers = Array.from({ length: calls }, (_, number) => created({ taskId: `task-${number}` }));
  server.script("tools/call", ...answers);
  for (let call = 0; call < calls; call++) await leave(client);
  // The last call may still be on its way off the stack.
  expect(watches() - before).toBeLessThan(calls / 2);
});

it("shares one watch between the handles of a task", async () => {
  const { server, client, clock } = await setUp();
  server.script("tools/call", created());
  server.script("tasks/get", completed());
  clock.hold();
  const handle = await client.startTool("publish_report");
  const before = watches();
  const other = await client.resume(handle.reference);
  expect(watches()).toBe(before);
  const results = Promise.all([handle.result(), other.result()]);
  clock.release();
  expect(await results).toEqual([sent, sent]);
  expect(server.of("tasks/get")).toHaveLength(1);
});

it("does not repeat a question that was left open after the last handle was collected", async () => {
  const asked = Promise.withResolvers<void>();
  let questions = 0;
  const { server, client } = await setUp({
    onInput: async () => {
      questions++;
      throw new Error("not now");
    },
    onInputError: () => {
      asked.resolve();
      return "leave_open";
    },
  });
  server.script("tools/call", created());
  server.script("tasks/get", asking({ approve: approval }));
  const reference = await begin(client, asked.promise);
  watches(); // collects
  server.script("tasks/get", asking({ approve: approval }), completed());
  const again = await client.resume(reference);
  expect(await again.result()).toEqual(sent);
  expect(questions).toBe(1);
});

/** Starts a call, waits for it until `enough`, and drops its handle. */
async function begin(client: TaskClient, enough: Promise<void>): Promise<TaskReference | null> {
  const handle = await client.startTool("publish_report");
  const left = new AbortController();
  const wait = handle.result({ signal: left.signal });
  await enough;
  left.abort(new Error("enough"));
  await expect(wait).rejects.toThrow("enough");
  return handle.reference;
}

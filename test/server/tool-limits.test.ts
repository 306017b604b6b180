import { expect, it } from "vitest";
import { text } from "../runtime/harness.ts";
import { InMemorySession } from "../kit/in-memory-session.ts";
import { startServer } from "../kit/server.ts";

it.each<[string, { readonly tasks?: object }]>([
  ["has none", {}],
  ["asks for none", { tasks: { list: {} } }],
])("a tool with a limit keeps it for calls without a task, of a client that %s", async (_, capabilities) => {
  let running = 0;
  let most = 0;
  const { server } = await startServer(
    (tasks) =>
      tasks.tool("one", { concurrency: 1 }, async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        return text("ran");
      }),
    { plain: capabilities.tasks === undefined ? "wait" : "ticket", plainDeadlineMs: 0 },
  );
  const session = await InMemorySession.open(server, { capabilities });
  const taskId = capabilities.tasks === undefined ? undefined : await session.start("one");
  const calls = Array.from({ length: 5 }, () => session.call("one"));
  for (const call of calls) expect(await session.result(call)).toMatchObject(text("ran"));
  if (taskId !== undefined)
    expect(await session.request("tasks/result", { taskId })).toMatchObject(text("ran"));
  expect(most).toBe(1);
});

import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../kit/messages.ts";
import { StdioClient } from "../kit/stdio-client.ts";
import { Job } from "./plain/job.ts";

const factory = (): McpServer => new McpServer({ name: "reports", version: "1" });

it("refuses what a client asks on a pipe beyond what it has open, until that is answered or cancelled", async () => {
  const job = new Job();
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 50 });
  job.add(tasks, { joinCalls: false });
  tasks.tool("now", { task: "forbidden" }, () => text("now"));
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const server = await serveStdio(tasks.server(factory), { stdin, stdout, maxOpenRequests: 2 });
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  const call = (id: string, name: string): void => pipe.send(id, "tools/call", { name, arguments: {} }, {});
  call("first", "job");
  call("second", "job");
  call("one more", "now");
  expect(await pipe.next()).toMatchObject({
    id: "one more",
    error: {
      code: -32_000,
      message: "2 requests are already open. Wait for some of them, or cancel them.",
      data: { retryAfterMs: 1_000 },
    },
  });
  pipe.cancel("first");
  call("another", "now");
  expect(await pipe.next()).toMatchObject({ id: "another", result: text("now") });
  call("and another", "now");
  expect(await pipe.next()).toMatchObject({ id: "and another", result: text("now") });
  job.end();
});

it("refuses a limit that is none", async () => {
  const tasks = createTasks({ store: memoryStore() });
  await expect(serveStdio(tasks.server(factory), { maxOpenRequests: 0 })).rejects.toMatchObject({
    code: "configuration",
  });
});

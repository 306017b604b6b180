import { fileURLToPath } from "node:url";
import { Client, type ClientCapabilities, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { McpServer } from "@modelcontextprotocol/server";
import type { DurableContext } from "holdfast";
import { describe, expect, it, onTestFinished } from "vitest";
import { making, serveDurable } from "../durable-server.ts";
import { type Message, text } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { processes } from "../restarted-sessions.ts";
import { teller } from "./teller.ts";

const logging = (mcp: McpServer): void => mcp.server.registerCapabilities({ logging: {} });

interface Hearing {
  readonly client: Client;
  /** What came, in its order. */
  readonly heard: unknown[];
  /** Resolves when so much has come. */
  readonly until: (count: number) => Promise<void>;
}

/** A client of the SDK on sessions that keeps the log messages that it hears. */
function hearing(capabilities: ClientCapabilities = {}): Hearing {
  const client = new Client(
    { name: "desk", version: "1" },
    { capabilities, versionNegotiation: { mode: "legacy" } },
  );
  onTestFinished(() => client.close());
  const heard: unknown[] = [];
  let wake = (): void => undefined;
  client.setNotificationHandler("notifications/message", ({ params }) => {
    heard.push(params);
    wake();
  });
  const until = async (count: number): Promise<void> => {
    while (heard.length < count) await new Promise<void>((resolve) => (wake = resolve));
  };
  return { client, heard, until };
}

/** What comes to a client, in its order: one that hears a report and its answer at the same time forgets the report. */
function received({ transport }: Client): readonly unknown[] {
  const messages: unknown[] = [];
  const next = transport?.onmessage;
  if (transport === undefined || next === undefined) throw new Error("The client is not connected.");
  transport.onmessage = (message, extra) => {
    messages.push(message);
    next(message, extra);
  };
  return messages;
}

it("shows a client of the SDK the lines of its call over HTTP, and the newest one as progress", async () => {
  const { tools, say } = teller();
  const { http } = await serve({ tools, server: logging });
  const { client, heard, until } = hearing();
  await client.connect(new StreamableHTTPClientTransport(new URL(http.url)));
  await client.setLoggingLevel("info");
  const progress: unknown[] = [];
  const called = client.callTool({ name: "tell" }, { onprogress: (report) => void progress.push(report) });
  say("debug", "a detail");
  say("info", "begins");
  await until(1);
  say("warning", "slow", { ms: 5 });
  await until(2);
  say(2, 3);
  say("end");
  expect(await called).toMatchObject(text("told"));
  expect(heard).toEqual([
    { level: "info", logger: "tell", data: "begins" },
    { level: "warning", logger: "tell", data: { text: "slow", data: { ms: 5 } } },
  ]);
  expect(progress.slice(0, 2)).toEqual([
    { progress: 0.002, message: "begins" },
    { progress: 0.003, message: "slow" },
  ]);
});

it("shows them over the pipes of a process", async () => {
  const { client, heard } = hearing();
  const main = fileURLToPath(new URL("logging-server.ts", import.meta.url));
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [main], stderr: "inherit" }),
  );
  await client.setLoggingLevel("info");
  const messages = received(client);
  for (const name of ["direct", "durable"]) {
    heard.length = 0;
    expect(await client.callTool({ name }, { onprogress: () => undefined })).toMatchObject(text("done"));
    expect(messages.slice(-2)).toMatchObject([{ params: { progress: 20 } }, { result: text("done") }]);
    expect(heard).toEqual([
      { level: "info", logger: name, data: "begins" },
      { level: "error", logger: name, data: { text: "fails", data: [1] } },
    ]);
  }
});

/** A tool as it was written for the SDK, with what an author adds to make it durable. */
const migrated = (): McpServer => {
  const server = new McpServer({ name: "reports", version: "1" }, { capabilities: { logging: {} } });
  const work = async ({ mcpReq }: DurableContext) => {
    await mcpReq.log("debug", "a detail");
    await mcpReq.log("info", "begins");
    await mcpReq.log("warning", { pages: 2 }, "printer");
    await mcpReq.log("error", { pages: 3 });
    return text("done");
  };
  server.registerTool("work", { task: "optional" }, work);
  return server;
};
const logged = [
  { level: "info", logger: "work", data: "begins" },
  { level: "warning", logger: "work", data: { text: 'printer: {"pages":2}', data: { pages: 2 } } },
  { level: "error", logger: "work", data: { pages: 3 } },
];

it.each([
  ["a live direct call", { tasks: {} }],
  ["a call that waits for its task", {}],
])("passes on what a tool that was written for the SDK logs in %s", async (_, capabilities) => {
  const { url, errors } = await serveDurable(migrated);
  const { client, heard } = hearing(capabilities);
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  await client.setLoggingLevel("info");
  expect(await client.callTool({ name: "work" })).toMatchObject(text("done"));
  expect(heard).toEqual(logged);
  expect(errors).toEqual([]);
});

describe.each([
  ["2025-11-25", "legacy"],
  ["2026-07-28", "auto"],
] as const)("the client of a plain call in %s", (version, mode) => {
  it.each(["sdk", "tasks"])("hears the last of many reports of %s before the answer", async (name) => {
    const burst = 20;
    const { url, server } = await serveDurable(
      making((mcp) => {
        mcp.registerTool("sdk", { task: "optional" }, async ({ mcpReq }: DurableContext) => {
          const progressToken = mcpReq._meta?.progressToken ?? "";
          for (let progress = 1; progress <= burst; progress++) {
            await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress } });
          }
          return text("done");
        });
      }),
    );
    server.tasks.tool("tasks", {}, async (_, task) => {
      for (let progress = 1; progress <= burst; progress++) task.progress(progress);
      return text("done");
    });
    const client = new Client({ name: "desk", version: "1" }, { versionNegotiation: { mode } });
    onTestFinished(() => client.close());
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    const messages = received(client);
    await client.callTool({ name }, { onprogress: () => undefined });
    expect(messages.slice(-2)).toMatchObject([{ params: { progress: burst } }, { result: text("done") }]);
  });
});

it("passes it on where the tool runs as a task of 2025-11-25", async () => {
  const { url } = await serveDurable(migrated);
  const peer = await SessionClient.open(url);
  await peer.request("logging/setLevel", { level: "info" });
  const stream = await peer.listen();
  const answer = await peer.request("tools/call", { name: "work", arguments: {}, task: {} });
  const { taskId } = (answer["result"] as { task: { taskId: string } }).task;
  const seen: unknown[] = [];
  while (seen.length < logged.length) {
    const message = await stream.message();
    if (message === undefined) break;
    if (message["method"] === "notifications/message") seen.push(message["params"]);
  }
  const _meta = { "io.modelcontextprotocol/related-task": { taskId } };
  expect(seen).toEqual(logged.map((line) => ({ ...line, _meta })));
});

it.each(["kill", "stop"] as const)(
  "sends no line twice where a session goes on after a %s, and keeps its level",
  async (end) => {
    const { tools, say } = teller();
    const run = await processes({ tools });
    const peer = await run.open();
    await peer.request("logging/setLevel", { level: "warning" });
    const first = await peer.listen();
    await peer.request("tools/call", { name: "tell", arguments: {}, task: {} });
    say("warning", "one");
    expect((await first.message())?.["params"]).toMatchObject({ data: "one" });
    await run[end]();
    const second = await peer.listen();
    say("info", "too little");
    say("warning", "two");
    say("end");
    const seen: Message[] = [];
    for (let message = await second.message(); message !== undefined; message = await second.message()) {
      seen.push(message);
      if (message["method"] === "notifications/tasks/status") break;
    }
    expect(seen.map(({ params }) => (params as Message)["data"] ?? (params as Message)["status"])).toEqual([
      "two",
      "completed",
    ]);
  },
);

it("sends no line again where the stream of a session moves to another process beside", async () => {
  const { tools, say, said } = teller();
  const run = await processes({ tools });
  const here = await run.open();
  await here.request("logging/setLevel", { level: "info" });
  const stream = await here.listen();
  const { result } = await here.request("tools/call", { name: "tell", arguments: {}, task: {} });
  const { taskId } = (result as { task: { taskId: string } }).task;
  const there = (await run.beside()).peer(here);
  await there.request("tasks/get", { taskId }); // it follows the task as well
  say("info", "one");
  expect((await stream.message())?.["params"]).toMatchObject({ data: "one" });
  await said(1);
  await there.request("tasks/get", { taskId });
  const moved = await there.listen();
  say("info", "two");
  expect((await moved.message())?.["params"]).toMatchObject({ data: "two" });
  say("end");
});

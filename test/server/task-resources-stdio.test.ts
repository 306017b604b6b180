import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import { withTask } from "../../src/generation/sep-1686.ts";
import { type Message, text } from "../kit/messages.ts";
import { StdioClient } from "../kit/stdio-client.ts";

/** A client of an earlier revision on a pipe, whose server has a tool that appends to both lists and goes on. */
async function onPipe(protocolVersion: string) {
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100 });
  tasks.tool("index", {}, async (_, task) => {
    await task.output("page 1");
    await task.step("read", () => task.log("warning", "slow", { pages: 1 }));
    await task.sleep("rest", 3_600_000);
    return text("indexed");
  });
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const makeServer = (): McpServer => new McpServer({ name: "reports", version: "1.2.3" });
  const server = await serveStdio(tasks.server(makeServer), { stdin, stdout });
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  let id = 0;
  /** The first message that is wanted; what comes before it is passed over. */
  const message = async (is: (message: Message) => boolean): Promise<Message> => {
    for (;;) {
      const next = await pipe.next();
      if (next === undefined) throw new Error("The server has ended.");
      if (is(next)) return next;
    }
  };
  const request = async (method: string, params: object): Promise<Message> => {
    const own = ++id;
    pipe.write({ id: own, method, params });
    return message((answer) => answer["id"] === own);
  };
  const clientInfo = { name: "desk", version: "1" };
  const opened = await request("initialize", { protocolVersion, capabilities: {}, clientInfo });
  expect(opened).toMatchObject({ result: { protocolVersion } });
  pipe.write({ method: "notifications/initialized" });
  return { pipe, message, request };
}

type Client = Awaited<ReturnType<typeof onPipe>>;

async function startCore({ request }: Client): Promise<string> {
  const { result } = await request("tools/call", { name: "index", arguments: {}, task: {} });
  return (result as { task: { taskId: string } }).task.taskId;
}

/** Under an id that its requestor has chosen, with characters that are none of a URI's. */
async function startSep({ pipe, message }: Client): Promise<string> {
  const params = withTask({ name: "index", arguments: {} }, { taskId: "a/b c" });
  pipe.write({ id: "call", method: "tools/call", params });
  await message(({ method }) => method === "notifications/tasks/created");
  return "a/b c";
}

it.each([
  ["2025-11-25", "2025-11-25", startCore],
  ["SEP-1686", "2025-06-18", startSep],
])("serves the log and the output of a task on a pipe: %s", async (_, version, start) => {
  const client = await onPipe(version);
  const name = encodeURIComponent(await start(client));
  const linesOf = async (uri: string): Promise<readonly unknown[]> => {
    for (;;) {
      const { result } = await client.request("resources/read", { uri });
      const { contents } = result as { contents: { uri: string; mimeType: string; text: string }[] };
      expect(contents).toMatchObject([{ uri, mimeType: "application/x-ndjson" }]);
      const lines = (contents[0]?.text ?? "").split("\n").slice(0, -1);
      if (lines.length > 0) return lines.map((line) => JSON.parse(line) as unknown);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const at = expect.any(String) as unknown;
  expect(await linesOf(`task://${name}/output`)).toEqual([
    { seq: 1, at, content: { type: "text", text: "page 1" } },
  ]);
  expect(await linesOf(`task://${name}/log?after=0`)).toEqual([
    { seq: 1, at, level: "warning", text: "slow", data: { pages: 1 }, step: "read" },
  ]);
  const uri = "task://unknown/log";
  expect((await client.request("resources/read", { uri }))["error"]).toEqual({
    code: -32_602,
    message: `Resource not found: ${uri}`,
    data: { uri },
  });
});

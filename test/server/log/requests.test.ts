import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import { type Message, withTasks } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";
import { EventStream } from "../../kit/session-client.ts";
import { type Sending, StatelessClient } from "../../kit/stateless-client.ts";
import { StdioClient } from "../../kit/stdio-client.ts";
import { listenParams } from "../../kit/subscription.ts";
import { teller, type Teller } from "./teller.ts";

const logging = (mcp: McpServer): void => mcp.server.registerCapabilities({ logging: {} });
const wants = (level: string): object => ({ "io.modelcontextprotocol/logLevel": level });

/** Calls `tell` over HTTP, and resolves with what its client reads as soon as that begins. */
function call(url: string, sending: Sending): Promise<EventStream> {
  const { promise, resolve, reject } = Promise.withResolvers<EventStream>();
  const peer = new StatelessClient(url, async (address, init) => {
    fetch(address, init).then((response) => resolve(new EventStream(response)), reject);
    return Response.json({});
  });
  void peer.call("tell", {}, sending);
  return promise;
}

async function served(told: Teller, own = logging): Promise<string> {
  return (await serve({ tools: told.tools, server: own })).http.url;
}

const contentType = ({ response }: EventStream): string | null => response.headers.get("content-type");

it.each([
  ["waits for its task", undefined, {}],
  ["has no task", "forbidden", withTasks],
] as const)("sends lines on the stream of a call that %s", async (_, task, capabilities) => {
  const told = teller(task === undefined ? {} : { task });
  const url = await served(told);
  const calling = call(url, { capabilities, meta: wants("info") });
  told.say("debug", "a detail");
  told.say("info", "one");
  const stream = await calling;
  expect(await stream.message()).toEqual({
    jsonrpc: "2.0",
    method: "notifications/message",
    params: { level: "info", logger: "tell", data: "one" },
  });
  told.say("alert", "two", { pages: 2 });
  told.say("end");
  const rest = await stream.rest();
  expect(rest).toMatchObject([
    { params: { level: "alert", logger: "tell", data: { text: "two", data: { pages: 2 } } } },
    { result: { content: [{ text: "told" }] } },
  ]);
});

it.each([
  ["did not ask", logging, {}],
  ["asked a server without logging", () => undefined, wants("debug")],
])("sends none to a client that %s", async (_, own, meta) => {
  const told = teller();
  const url = await served(told, own);
  const calling = call(url, { capabilities: {}, meta });
  told.say("emergency", "unheard");
  told.say("end");
  expect(contentType(await calling)).toBe("application/json");
});

it("sends none of a task, whose call is answered: its log is read", async () => {
  const told = teller();
  const url = await served(told);
  const calling = call(url, { meta: wants("debug") });
  const answer = await calling;
  expect(contentType(answer)).toBe("application/json");
  told.say("end");
});

it("sends what a call says that may become a task as long as it is none", async () => {
  const told = teller({ promoteAfterMs: 600_000 });
  const url = await served(told);
  const meta = { ...wants("info"), progressToken: "p" };
  const direct = call(url, { meta });
  told.say("info", "one");
  told.say(1);
  told.say("end");
  expect((await (await direct).rest()).map(({ params, result }) => params ?? result)).toMatchObject([
    { level: "info", data: "one" },
    { progress: 0.001, message: "one" },
    { progress: 1, message: "one" },
    { resultType: "complete" },
  ]);
  const promoted = call(url, { meta });
  told.say("info", "two");
  told.say("sleep");
  told.say("info", "unheard");
  const [heard, progress, answer, ...rest] = await (await promoted).rest();
  expect([heard, progress, answer]).toMatchObject([
    { params: { data: "two" } },
    { params: { progress: 0.001 } },
    { result: { resultType: "task" } },
  ]);
  expect(rest).toEqual([]);
  told.say("end");
});

it("reports the progress of a call without a task on its stream, until it is answered", async () => {
  const told = teller({ task: "forbidden" });
  const url = await served(told);
  const calling = call(url, { meta: { progressToken: "p" } });
  told.say("info", "begins");
  told.say(1, 2);
  told.say(1, 2);
  told.say(2, 2, "second");
  told.say("end");
  expect((await (await calling).rest()).map(({ params }) => params)).toEqual([
    { progressToken: "p", progress: 0.001, message: "begins" },
    { progressToken: "p", progress: 1, total: 2, message: "begins" },
    { progressToken: "p", progress: 2, total: 2, message: "second" },
    undefined,
  ]);
});

it.each([
  ["a server that logs", logging, ["heard"]],
  ["one that does not", () => undefined, []],
])("sends them over stdio, on %s", async (_, own, heard) => {
  const told = teller();
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100 });
  told.tools(tasks);
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const factory = (): McpServer => {
    const mcp = new McpServer({ name: "reports", version: "1" });
    own(mcp);
    return mcp;
  };
  const server = await serveStdio(tasks.server(factory), { stdin, stdout });
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  const { _meta: envelope } = listenParams({}, {}) as { _meta: object };
  const _meta = { ...envelope, ...wants("warning") };
  pipe.write({ id: 1, method: "tools/call", params: { name: "tell", arguments: {}, _meta } });
  told.say("info", "too little");
  told.say("warning", "heard");
  told.say("end");
  const seen: Message[] = [];
  for (let message = await pipe.next(); message !== undefined; message = await pipe.next()) {
    if (message["id"] === 1) break;
    seen.push(message);
  }
  expect(seen.map(({ params }) => (params as Message)["data"])).toEqual(heard);
});

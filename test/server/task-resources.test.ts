import { PassThrough } from "node:stream";
import { McpServer, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { createTasks, type Tasks } from "holdfast";
import type { Authenticate } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../kit/messages.ts";
import { serve, type Served } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { type Sending, StatelessClient } from "../kit/stateless-client.ts";
import { StdioClient } from "../kit/stdio-client.ts";
import { authorsOwn } from "./session-server.ts";

const as = (user: string) => ({ headers: { Authorization: `Bearer ${user}` } });

const authenticate: Authenticate = async (request) =>
  request.headers.get("authorization")?.replace("Bearer ", "");

/** A tool that still works when its log and its output are read. */
function index(tasks: Tasks): void {
  tasks.tool("index", {}, async (_, task) => {
    await task.log("info", "begins", { pages: 2 });
    await task.step("read", () => task.log("warning", "slow"));
    await task.output("page 1");
    await task.output([{ type: "text", text: "page 2" }]);
    await task.sleep("rest", 3_600_000);
    return text("indexed");
  });
}

/** What the tool above appends, as it is read. */
const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as unknown;
const log = [
  { seq: 1, at, level: "info", text: "begins", data: { pages: 2 } },
  { seq: 2, at, level: "warning", text: "slow", step: "read" },
];
const output = [
  { seq: 1, at, content: { type: "text", text: "page 1" } },
  { seq: 2, at, content: { type: "text", text: "page 2" } },
];

function own(): Promise<Served> {
  return serve({ tools: index, server: authorsOwn, http: { authenticate } });
}

/** The one content of what was read, line by line. */
function linesOf(result: unknown, uri: string): readonly unknown[] {
  const { contents } = result as { contents: { text: string }[] };
  expect(contents).toEqual([{ uri, mimeType: "application/x-ndjson", text: expect.any(String) as unknown }]);
  const [, ...lines] = (contents[0]?.text ?? "").split("\n").toReversed();
  return lines.toReversed().map((line) => JSON.parse(line) as unknown);
}

/** Reads until there are so many lines. */
async function readTo(
  count: number,
  uri: string,
  read: (uri: string) => Promise<unknown>,
): Promise<readonly unknown[]> {
  for (;;) {
    const lines = linesOf(await read(uri), uri);
    if (lines.length >= count) return lines;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function expectWhole(id: string, read: (uri: string) => Promise<unknown>): Promise<void> {
  expect(await readTo(2, `task://${id}/output`, read)).toEqual(output);
  expect(await readTo(2, `task://${id}/log`, read)).toEqual(log);
  expect(await readTo(1, `task://${id}/log?after=1`, read)).toEqual(log.slice(1));
  expect(await readTo(0, `task://${id}/output?after=2`, read)).toEqual([]);
}

it("serves the log and the output of a task in 2026-07-28, which are not to be kept", async () => {
  const peer = new StatelessClient((await own()).http.url);
  const id = await peer.start("index", {}, as("ann"));
  await expectWhole(id, (uri) => peer.result("resources/read", { uri }, named(uri, "ann")));
  const uri = `task://${id}/log`;
  expect(await peer.result("resources/read", { uri }, named(uri, "ann"))).toMatchObject({
    resultType: "complete",
    ttlMs: 0,
    cacheScope: "private",
    _meta: { "io.modelcontextprotocol/serverInfo": { name: "reports" } },
  });
});

it("serves them in a session", async () => {
  const { http } = await own();
  const peer = await SessionClient.open(http.url, as("ann"));
  const created = await peer.request("tools/call", { name: "index", arguments: {}, task: {} });
  const { taskId } = (created["result"] as { task: { taskId: string } }).task;
  await expectWhole(taskId, async (uri) => (await peer.request("resources/read", { uri }))["result"]);
});

it("serves them on a pipe, also to a client whose server has no resources", async () => {
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100 });
  index(tasks);
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const factory = (): McpServer => new McpServer({ name: "reports", version: "1.2.3" });
  const server = await serveStdio(tasks.server(factory), { stdin, stdout });
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  const id = await pipe.start("index");
  await expectWhole(id, (uri) => pipe.request("resources/read", { uri }));
  // One that is not exact is judged by the SDK, and then answered.
  const uri = `task://${id}/log`;
  expect(linesOf(await pipe.request("resources/read", { uri, cursor: null, requestState: 1 }), uri)).toEqual(
    log,
  );
});

it("refuses another's task in 2026-07-28 as an unknown one, and as an unknown resource of the author's [A-40]", async () => {
  const peer = new StatelessClient((await own()).http.url);
  const id = await peer.start("index", {}, as("ann"));
  const refusals = [`task://${id}/log`, `task://${id}/output`, "task://unknown/log", "test://unknown"];
  for (const uri of refusals) {
    const { error, status } = await peer.send("resources/read", { uri }, named(uri, "eve"));
    expect(error).toEqual(notFound(uri));
    expect(status).toBe(200);
  }
});

it("refuses them in a session too [A-40]", async () => {
  const { http } = await own();
  const [ann, eve] = [
    await SessionClient.open(http.url, as("ann")),
    await SessionClient.open(http.url, as("eve")),
  ];
  const created = await ann.request("tools/call", { name: "index", arguments: {}, task: {} });
  const { taskId } = (created["result"] as { task: { taskId: string } }).task;
  for (const uri of [`task://${taskId}/log`, `task://unknown/output`, "test://unknown"]) {
    expect((await eve.request("resources/read", { uri }))["error"]).toEqual(notFound(uri));
  }
});

it("leaves every other resource to the author's server", async () => {
  const url = (await own()).http.url;
  const uri = "test://note";
  const note = { contents: [{ uri, text: "a note" }] };
  expect(await new StatelessClient(url).result("resources/read", { uri }, named(uri, "ann"))).toMatchObject(
    note,
  );
  const session = await SessionClient.open(url, as("ann"));
  expect(await session.request("resources/read", { uri })).toMatchObject({ result: note });
  for (const odd of ["task://a/journal", "task://a/log?after=x", "task:///log", "task://%/log"]) {
    const { error } = await session.request("resources/read", { uri: odd });
    expect(error).toMatchObject({ code: ProtocolErrorCode.InvalidParams });
  }
});

it("has the SDK judge a request whose headers do not repeat it", async () => {
  const peer = new StatelessClient((await own()).http.url);
  const id = await peer.start("index", {}, as("ann"));
  const uri = `task://${id}/log`;
  const { status, error } = await peer.send("resources/read", { uri }, named("task://other/log", "ann"));
  expect([status, error?.code]).toEqual([400, -32_020]);
  const encoded = `=?base64?${Buffer.from(uri).toString("base64")}?=`;
  expect(linesOf(await peer.result("resources/read", { uri }, named(encoded, "ann")), uri)).toEqual(log);
});

/** As the caller, with the header that repeats what is read. */
function named(uri: string, user: string): Sending {
  return { headers: { ...as(user).headers, "Mcp-Name": uri } };
}

function notFound(uri: string): object {
  return { code: ProtocolErrorCode.InvalidParams, message: `Resource not found: ${uri}`, data: { uri } };
}

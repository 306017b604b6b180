import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type Tasks } from "holdfast";
import type { Authenticate } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import { sampleBytes } from "../kit/sample-bytes.ts";
import { serve, type Served } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient, type Sending } from "../kit/stateless-client.ts";
import { StdioClient } from "../kit/stdio-client.ts";
import { authorsOwn } from "./session-server.ts";

const as = (user: string) => ({ headers: { Authorization: `Bearer ${user}` } });

const authenticate: Authenticate = async (request) =>
  request.headers.get("authorization")?.replace("Bearer ", "");

const bytes = Buffer.from(sampleBytes(300_000));

/** A tool that still works when its artifacts are read. */
function exporting(tasks: Tasks): void {
  tasks.tool("export", {}, async (_, task) => {
    await task.artifact("rows & columns.csv", "id,name\n1,é\n", { mimeType: "text/csv" });
    await task.artifact("image.png", bytes, { mimeType: "image/png" });
    await task.sleep("rest", 3_600_000);
    return "exported";
  });
}

const own = (): Promise<Served> => serve({ tools: exporting, server: authorsOwn, http: { authenticate } });

type Read = (uri: string) => Promise<unknown>;

const named = (uri: string, user: string): Sending => ({
  headers: { ...as(user).headers, "Mcp-Name": uri },
});

interface Content {
  readonly uri: string;
  readonly mimeType: string;
  readonly text?: string;
  readonly blob?: string;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

function contentOf(result: unknown): Content {
  const { contents } = result as { readonly contents: readonly Content[] };
  expect(contents).toHaveLength(1);
  return contents[0] as Content;
}

async function expectWhole(id: string, read: Read): Promise<void> {
  const list = `task://${id}/artifact`;
  let lines: readonly string[] = [];
  while (lines.length < 2) {
    const { text = "" } = contentOf(await read(list));
    lines = text.split("\n").slice(0, -1);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const [csv, png] = lines.map((line) => JSON.parse(line) as { readonly uri: string });
  expect(csv).toEqual({
    name: "rows & columns.csv",
    uri: `${list}/rows%20%26%20columns.csv`,
    mimeType: "text/csv",
    bytes: 13,
    sha256: expect.stringMatching(/^[\da-f]{64}$/) as unknown,
    at: expect.stringMatching(/^\d{4}-/) as unknown,
  });
  const { uri = "" } = csv ?? {};
  const text = { uri, mimeType: "text/csv", text: "id,name\n1,é\n" };
  expect(contentOf(await read(uri))).toMatchObject(text);
  const whole = contentOf(await read(png?.uri ?? ""));
  expect(whole).toMatchObject({ mimeType: "image/png", blob: bytes.toString("base64") });
  const part = contentOf(await read(`${png?.uri}?from=262140&bytes=10`));
  expect(part).toMatchObject({
    uri: `${png?.uri}?from=262140&bytes=10`,
    blob: bytes.subarray(262_140, 262_150).toString("base64"),
    _meta: { "holdfast/artifact": { from: 262_140, size: 300_000 } },
  });
}

it("serves the artifacts of a task in 2026-07-28", async () => {
  const peer = new StatelessClient((await own()).http.url);
  const id = await peer.start("export", {}, as("ann"));
  await expectWhole(id, (uri) => peer.result("resources/read", { uri }, named(uri, "ann")));
});

it("serves them in a session", async () => {
  const peer = await SessionClient.open((await own()).http.url, as("ann"));
  const created = await peer.request("tools/call", { name: "export", arguments: {}, task: {} });
  const { taskId } = (created["result"] as { task: { taskId: string } }).task;
  await expectWhole(taskId, async (uri) => (await peer.request("resources/read", { uri }))["result"]);
});

it("serves them to a client that names its task itself, in SEP-1686", async () => {
  const peer = await SessionClient.open((await own()).http.url, as("ann"));
  const task = { "modelcontextprotocol.io/task": { taskId: "my export", keepAlive: 60_000 } };
  const answer = peer.request("tools/call", { name: "export", arguments: {}, _meta: task });
  answer.catch(() => undefined); // it comes when the task ends, and the test ends first
  const read: Read = async (uri) => (await peer.request("resources/read", { uri }))["result"];
  const uri = "task://my%20export/artifact";
  while ((await read(uri)) === undefined) await new Promise((resolve) => setImmediate(resolve));
  await expectWhole("my%20export", read);
});

it("serves them on a pipe", async () => {
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100 });
  exporting(tasks);
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const factory = (): McpServer => new McpServer({ name: "reports", version: "1.2.3" });
  const server = await serveStdio(tasks.server(factory), { stdin, stdout });
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  const id = await pipe.start("export");
  await expectWhole(id, (uri) => pipe.request("resources/read", { uri }));
});

it("refuses another's as unknown, in both, and leaves what is none to the author [A-40]", async () => {
  const { http } = await own();
  const peer = new StatelessClient(http.url);
  const id = await peer.start("export", {}, as("ann"));
  await expectWhole(id, (uri) => peer.result("resources/read", { uri }, named(uri, "ann")));
  const eve = await SessionClient.open(http.url, as("eve"));
  for (const uri of [`task://${id}/artifact`, `task://${id}/artifact/image.png`, "task://none/artifact/a"]) {
    const notFound = { code: -32_602, message: `Resource not found: ${uri}`, data: { uri } };
    expect((await peer.send("resources/read", { uri }, named(uri, "eve"))).error).toEqual(notFound);
    expect((await eve.request("resources/read", { uri }))["error"]).toEqual(notFound);
  }
  const missing = `task://${id}/artifact/other`;
  const { error } = await peer.send("resources/read", { uri: missing }, named(missing, "ann"));
  expect(error).toMatchObject({ code: -32_602, message: `Resource not found: ${missing}` });
  for (const odd of ["?from=-1", "?bytes=x", "?to=3", "/more", "#top"]) {
    const uri = `task://${id}/artifact/image.png${odd}`;
    expect((await eve.request("resources/read", { uri }))["error"]).toMatchObject({ code: -32_602 });
  }
});

it("says how to read one in parts that is too large for one answer", async () => {
  const { http } = await serve({ tools: exporting, options: { maxBodyBytes: 100_000 } });
  const peer = new StatelessClient(http.url);
  const id = await peer.start("export");
  const uri = `task://${id}/artifact/image.png`;
  const sending = { headers: { "Mcp-Name": uri } };
  let { error } = await peer.send("resources/read", { uri }, sending);
  while (error?.message.startsWith("Resource not found") === true)
    ({ error } = await peer.send("resources/read", { uri }, sending));
  expect(error).toMatchObject({
    code: -32_602,
    message:
      'Artifact "image.png" has 300000 bytes, and one read gives at most 100000. Read it in parts: add ?from=0&bytes=100000 to its URI.',
  });
});

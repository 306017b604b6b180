import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import fc from "fast-check";
import { createTasks, type Tasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import { NodeCount } from "../../src/server/limits.ts";
import { BoundedLines } from "../../src/server/stdio/serve-stdio.ts";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { StdioClient } from "../kit/stdio-client.ts";

const tools = (tasks: Tasks): void =>
  void tasks.tool("direct", { task: "forbidden" }, (args) =>
    text(`${JSON.stringify(args ?? {}).length} characters`),
  );
const lists = (count: number): unknown[] => Array.from({ length: count }, () => []);
const refusal = { code: -32_600, message: "The message has more than 300 values." };

function valuesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, each) => sum + valuesIn(each), 1);
}

it("counts the values of any JSON, and none that a string seems to have", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 1, 3), (value, indent) => {
      const count = new NodeCount();
      for (const byte of Buffer.from(JSON.stringify(value, undefined, indent))) count.add(byte);
      expect(count.values).toBe(valuesIn(JSON.parse(JSON.stringify(value))));
    }),
    {
      examples: [
        ['[,"{\\,', 1],
        [{ "a,[b": ["\\", '"', "\\\\"], c: {} }, 0],
      ],
    },
  );
});

it("refuses a message with too many values before it is parsed, over HTTP in every generation", async () => {
  const { http, errors } = await serve({ tools, options: { maxNodes: 300 } });
  const peer = new StatelessClient(http.url);
  expect(await peer.call("direct", { x: lists(400) })).toMatchObject({ status: 400, error: refusal });
  expect((await peer.call("direct", { x: lists(200) })).result).toBeDefined();
  expect((await peer.call("direct", { x: "[,{,".repeat(1_000) })).result).toBeDefined();
  const session = await SessionClient.open(http.url);
  expect(await session.call("direct", { x: lists(400) })).toMatchObject({ error: refusal });
  // That it is not parsed shows where it is no JSON.
  const cut = await session.send("POST", { body: JSON.stringify({ x: lists(400) }).slice(0, -1) });
  expect(await cut.json()).toMatchObject({ error: refusal });
  expect(errors).toEqual([]);
});

const members = (count: number): object =>
  Object.fromEntries(lists(count).map((_, place) => [`k${place}`, 0]));
const membersRefusal = { code: -32_600, message: "The message has an object with more than 1000 members." };

it("refuses an object with too many members, over HTTP and on stdio, and takes several with fewer, and longer lists", async () => {
  const options = { maxNodes: 5_000 };
  const { http } = await serve({ tools, options });
  const peer = new StatelessClient(http.url);
  const [inOne, inOthers] = [
    { x: [members(1_001)] },
    { x: [members(1_000), { y: members(1_000) }, lists(1_500)] },
  ];
  expect(await peer.call("direct", inOne)).toMatchObject({ status: 400, error: membersRefusal });
  expect((await peer.call("direct", inOthers)).result).toBeDefined();
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const tasks = createTasks({ store: memoryStore(), ...options });
  tools(tasks);
  const server = await serveStdio(
    tasks.server(() => new McpServer({ name: "many", version: "1" })),
    { stdin, stdout },
  );
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  stdin.write(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":${JSON.stringify(inOne)}}\n`);
  expect(await pipe.next()).toEqual({ jsonrpc: "2.0", id: 9, error: membersRefusal });
  const answer = await pipe.request("tools/call", { name: "direct", arguments: inOthers });
  expect(answer["content"]).toBeDefined();
});

it("refuses such a message on stdio to whoever sent it, and goes on", async () => {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const errors: unknown[] = [];
  const options = { store: memoryStore(), maxNodes: 300, onError: (error: unknown) => errors.push(error) };
  const tasks = createTasks(options);
  tools(tasks);
  const server = await serveStdio(
    tasks.server(() => new McpServer({ name: "many", version: "1" })),
    {
      stdin,
      stdout,
    },
  );
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  const many = JSON.stringify(lists(400));
  // As clients write it, with the id before the params and after them; and in a way in which it is not looked for.
  stdin.write(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"x":${many}}}\n`);
  expect(await pipe.next()).toEqual({ jsonrpc: "2.0", id: "a", error: refusal });
  const last = `{"method":"tools/call","params":{"x":${many}},"jsonrpc":"2.0","id":7}\n`;
  stdin.write(last.slice(0, 500));
  stdin.write(last.slice(500, -3));
  stdin.write(last.slice(-3));
  expect(await pipe.next()).toEqual({ jsonrpc: "2.0", id: 7, error: refusal });
  stdin.write(`{"params":{"x":${many}},"id":8,"method":"tools/call","jsonrpc":"2.0"}\n`);
  expect(await pipe.next()).toEqual({ jsonrpc: "2.0", id: null, error: refusal });
  expect(await pipe.request("tools/call", { name: "direct", arguments: { x: lists(200) } })).toMatchObject(
    text("607 characters"),
  );
  expect(errors).toEqual([]);
});

/** The lines of what arrives in parts of `size` bytes. */
function readLines(sent: string, { maxBytes = 100, size = 100 } = {}): unknown[] {
  const lines = new BoundedLines({ maxNodes: 1_000, maxBytes });
  const bytes = Buffer.from(sent);
  const read: unknown[] = [];
  for (let from = 0; from < bytes.length; from += size)
    read.push(...lines.add(bytes.subarray(from, from + size)));
  return read;
}

it("hands on everything else as it is, however it is cut", () =>
  fc.assert(
    fc.property(
      fc.array(
        fc.string({ unit: "binary" }).map((line) => line.replaceAll("\n", " ").replace(/^\uFEFF+/, "")),
      ),
      fc.integer({ min: 1, max: 7 }),
      (lines, size) => {
        const sent = lines.map((line) => `${line}\n`).join("");
        expect(readLines(sent, { maxBytes: Infinity, size })).toEqual(lines);
      },
    ),
    { numRuns: 50 },
  ));

it("refuses a line that is too long on stdio, and goes on", async () => {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const tasks = createTasks({ store: memoryStore(), maxBodyBytes: 1_000 });
  tools(tasks);
  const server = await serveStdio(
    tasks.server(() => new McpServer({ name: "many", version: "1" })),
    { stdin, stdout },
  );
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  const error = {
    code: -32_600,
    message: expect.stringMatching(/^The message is larger than \d+ bytes\.$/) as string,
  };
  const filler = "x".repeat(11 * 1024 * 1024);
  stdin.write(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"x":"${filler}"}}\n`);
  expect(await pipe.next()).toEqual({ jsonrpc: "2.0", id: "a", error });
  stdin.write(`${filler}\n`);
  expect(await pipe.next()).toEqual({ jsonrpc: "2.0", id: null, error });
  expect(await pipe.request("tools/call", { name: "direct", arguments: { x: [] } })).toMatchObject(
    text("8 characters"),
  );
});

it.each([1, 2, 3, 100])("skips a byte order mark, which comes in parts of %i bytes", (size) => {
  expect(readLines(`\uFEFF{"a":"\uFEFF"}\n\uFEFF{}\n`, { size })).toEqual(['{"a":"\uFEFF"}', "{}"]);
});

it("finds the id of a request that is too long, also after a byte order mark", () => {
  const line = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"x":"${"x".repeat(100)}"}}\n`;
  const fault = "The message is larger than 100 bytes.";
  expect(readLines(`${line}\uFEFF${line}{}\n`, { size: 20 })).toEqual([
    { id: 7, fault },
    { id: 7, fault },
    "{}",
  ]);
});

it.each([
  ["only spaces would be cut off", `{"a":1}${" ".repeat(20)}`],
  ["only spaces and the last brace would be", `{"a":1${" ".repeat(20)}}`],
])("leaves no message of a line that is too long, even if %s", (_, line) => {
  const fault = "The message is larger than 20 bytes.";
  expect(readLines(`${line}\n{"b":2}\n`, { maxBytes: 20 })).toEqual([{ id: null, fault }, '{"b":2}']);
});

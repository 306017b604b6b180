import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type PrepareContext, type Tasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { text, withTasks } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { StdioClient } from "../kit/stdio-client.ts";
import { messageFault } from "../../src/server/limits.ts";

function tools(tasks: Tasks): void {
  const loose = { inputSchema: z.looseObject({}) };
  tasks.tool("greet", loose, () => text("hello"));
  tasks.tool("direct", { ...loose, task: "forbidden" }, () => text("hello"));
  const prepare = async (_: unknown, ask: PrepareContext): Promise<void> => void (await ask.roots("r"));
  tasks.tool("asks", { ...loose, prepare }, () => text("x"));
}

/** So many lists, or objects, in one another, as JSON: V8 parses any depth, and can write down only some. */
const nested = (open: "[" | '{"a":', levels: number): string =>
  open.repeat(levels) + (open === "[" ? "" : "1") + (open === "[" ? "]" : "}").repeat(levels);

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": { ...withTasks, roots: {} },
};

/** Where depth can hide in a request. */
const places: readonly ((deep: string) => [method: string, name: string, params: string])[] = [
  (deep) => ["tools/call", "greet", `"name":"greet","arguments":{"x":${deep}}`],
  (deep) => ["tools/call", "direct", `"name":"direct","arguments":{"x":${deep}}`],
  (deep) => ["tools/call", "asks", `"name":"asks","arguments":{"x":${deep}}`],
  (deep) => ["tools/call", "greet", `"name":"greet","arguments":{},"more":${deep}`],
  (deep) => ["tasks/get", "t", `"taskId":"t","more":${deep}`],
  (deep) => ["tasks/update", "t", `"taskId":"t","inputResponses":{"a":${deep}}`],
  (deep) => ["tasks/cancel", "t", `"taskId":${deep}`],
  (deep) => ["subscriptions/listen", "", `"notifications":{"taskIds":${deep}}`],
  (deep) => ["tools/list", "", `"cursor":${deep}`],
];

const depths = [1_000, 10_000, 100_000];
const cases = depths.flatMap((levels) =>
  // What depth costs is the same everywhere.
  (levels === 100_000 ? places.slice(0, 1) : places).flatMap((place) => [
    place(nested("[", levels)),
    place(nested('{"a":', levels)),
  ]),
);

it("refuses deep messages over HTTP in the newest revision, and goes on", async () => {
  const { http, errors } = await serve({ tools });
  const peer = new StatelessClient(http.url);
  for (const [method, name, params] of cases) {
    const response = await fetch(http.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        ...(name !== "" && { "mcp-name": name }),
      },
      body: `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{${params},"_meta":${JSON.stringify(meta)}}}`,
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ id: null, error: { code: -32600 } });
  }
  expect((await peer.call("direct")).result).toMatchObject(text("hello"));
  expect(errors).toEqual([]);
});

it("refuses deep messages of a session, in batches and answers too, and goes on", async () => {
  const { http, errors } = await serve({ tools });
  const peer = await SessionClient.open(http.url);
  const bodies = cases.flatMap(([method, , params]) => {
    const request = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{${params},"task":{}}}`;
    return [request, `[${request}]`];
  });
  bodies.push(...depths.map((levels) => nested("[", levels)));
  bodies.push(...depths.map((levels) => `{"jsonrpc":"2.0","id":1,"result":${nested('{"a":', levels)}}`));
  for (const body of bodies) {
    const response = await peer.send("POST", { body });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ id: null, error: { code: -32600 } });
  }
  expect(await peer.call("direct")).toMatchObject({ result: text("hello") });
  expect(errors).toEqual([]);
});

it("refuses deep messages on stdio with an error to each request, and goes on", async () => {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const errors: unknown[] = [];
  const tasks = createTasks({ store: memoryStore(), onError: (error) => errors.push(error) });
  tools(tasks);
  const factory = (): McpServer => new McpServer({ name: "deep", version: "1" });
  const server = await serveStdio(tasks.server(factory), { stdin, stdout });
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  for (const [number, [method, , params]] of cases.entries()) {
    const body = `"params":{${params},"_meta":${JSON.stringify(meta)}}`;
    stdin.write(`{"jsonrpc":"2.0","id":${number},"method":"${method}",${body}}\n`);
    expect(await pipe.next()).toMatchObject({ id: number, error: { code: -32600 } });
  }
  expect(errors).toEqual([]);
  stdin.write(`{"jsonrpc":"2.0","method":"notifications/x","params":{"x":${nested("[", 10_000)}}}\n`);
  stdin.write(`{"jsonrpc":"2.0","id":"holdfast-1","result":{"x":${nested("[", 10_000)}}}\n`);
  expect(await pipe.request("tools/call", { name: "direct", arguments: {} })).toMatchObject(text("hello"));
});

it("takes what is as deep as it may be, and lets an author say how deep that is", async () => {
  const peer = await StatelessClient.of({ tools, options: { maxNesting: 10 } });
  // The message, its params and its arguments are three levels.
  const args = (levels: number): object => ({ x: JSON.parse(nested("[", levels)) as unknown });
  expect((await peer.call("direct", args(7))).result).toMatchObject(text("hello"));
  expect((await peer.call("direct", args(8))).error).toMatchObject({
    code: -32600,
    message: "The message is nested more than 10 levels deep.",
  });
});

it.each([
  [1, 0, false],
  ["{[", 1, false],
  [{}, 0, true],
  [[], 1, false],
  [[{}], 1, true],
  [[[], { a: [] }, 1], 2, true],
  [[[], { a: [] }, null], 3, false],
])("counts the levels of %j: more than %i is %s", (value, levels, deeper) => {
  expect(messageFault(value, levels) !== undefined).toBe(deeper);
});

it.each(["1e999", "-1e999"])(
  "refuses the number %s, which no tool could be given as it was sent",
  async (number) => {
    const { http } = await serve({ tools });
    const peer = await SessionClient.open(http.url);
    const args = `{"x":[{"y":${number}}]}`;
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":${args}}}`;
    const response = await peer.send("POST", { body });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { code: -32600, message: "The message has a number that is out of range." },
    });
    const almost = body.replace(number, "1.7976931348623157e308");
    expect((await peer.send("POST", { body: almost })).status).toBe(200);
  },
);

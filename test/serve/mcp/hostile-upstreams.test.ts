import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { mcpUpstream } from "../../../src/serve/mcp/mcp-upstream.ts";
import { clientOf, gateway, until } from "./gateway.ts";

const deadline = 60_000;

/** A program that speaks the protocol just well enough to be a server, and does its worst in its calls. */
const program = `
const send = (message) => process.stdout.write((typeof message === "string" ? message : JSON.stringify({ jsonrpc: "2.0", ...message })) + "\\n");
const text = (said) => ({ content: [{ type: "text", text: said }] });
const slow = { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } }, required: ["a"] };
const doubled = { type: "object", $defs: { d40: true }, allOf: [{ $ref: "#/$defs/d0" }] };
for (let i = 0; i < 40; i++) doubled.$defs["d" + i] = { allOf: [1, 2].map(() => ({ $ref: "#/$defs/d" + (i + 1) })) };
const unique = { type: "object", properties: { list: { type: "array", uniqueItems: true } } };
const tools = Object.entries({ fine: {}, garbage: {}, shape: {}, blocks: {}, nulls: {}, dies: {}, asks: {}, "answers-twice": {}, slow, doubled, unique, "asks-slowly": {} })
  .map(([name, schema]) => ({ name, inputSchema: { type: "object", ...schema } }));
let slowCall;
const calls = {
  fine: (id) => send({ id, result: text("fine") }),
  garbage(id) {
    for (const line of ["no JSON at all", "[]", "null", "{}", '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":"x","result":5}']) send(line);
    send({ id: 99999, result: text("of another call") });
    send({ method: "notifications/progress", params: { progressToken: "nobody's", progress: "much" } });
    send({ id, result: text("after garbage") });
  },
  shape: (id) => send({ id, result: { content: 5 } }),
  blocks: (id) => send({ id, result: { content: [null, { type: "text" }, ...text("whole").content], isError: "yes" } }),
  nulls: (id) => send({ id, result: { content: [
    { type: "image", data: "AAAA", mimeType: "image/png", annotations: null, _meta: null },
    { type: "resource", resource: { uri: "a:b", text: "c", mimeType: null } },
    { type: "text", text: "dated", annotations: { lastModified: "yesterday" } },
  ] } }),
  dies: () => process.exit(1),
  asks() {
    const requestedSchema = { type: "object", properties: { ok: { type: "boolean" } } };
    send({ id: "q", method: "elicitation/create", params: { message: "Still there?", requestedSchema } });
  },
  slow: (id) => send({ id, result: text("judged") }),
  doubled: (id) => send({ id, result: text("judged") }),
  unique: (id) => send({ id, result: text("judged") }),
  "asks-slowly"(id) {
    slowCall = id;
    send({ id: "slow", method: "elicitation/create", params: { message: "Which?", requestedSchema: slow } });
  },
  "answers-twice"(id) {
    send({ id, result: text("first") });
    send({ id, result: text("second") });
  },
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (id === "slow") send({ id: slowCall, result: text(result.action + " " + result.content.a) });
  else if (method === "initialize")
    send({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "hostile", version: "1" } } });
  else if (method === "tools/list") send({ id, result: { tools } });
  else if (method === "tools/call") calls[params.name](id);
  else if (id !== undefined && method !== undefined) send({ id, error: { code: -32601, message: "no" } });
});
`;

it(
  "goes on whatever a program answers, says what it does not know, and starts one again that has ended",
  { timeout: deadline },
  async () => {
    const options = { command: process.execPath, args: ["-e", program] };
    const served = await gateway([mcpUpstream("hostile", options)]);
    const asked: string[] = [];
    const client = await clientOf(served, {
      onInput: async ({ params }) => {
        asked.push(JSON.stringify(params));
        return new Promise<never>(() => undefined); // nobody is there
      },
    });
    const said = async (tool: string): Promise<string> => {
      const { content, isError = false } = await client
        .callTool(tool)
        .catch((error: unknown) => ({ content: [{ type: "text", text: String(error) }], isError: true }));
      const [first] = content;
      return `${isError} ${first !== undefined && "text" in first ? first.text : ""}`;
    };
    expect(await said("garbage")).toBe("false after garbage");
    expect(await said("answers-twice")).toBe("false first");
    const asking = said("asks");
    await until(() => asked.length === 1);
    const lost = /^true The connection to the server hostile was lost .* not known whether/;
    expect(await said("dies")).toMatch(lost);
    expect(await asking).toMatch(lost);
    expect(await said("fine")).toBe("false fine");
    expect(asked).toMatchObject([expect.stringContaining("Still there?")]);
    expect(await said("shape")).toMatch(/^true .*shape/);
    const odd = /^\[Content of the server hostile that is not valid: /;
    expect(await client.callTool("blocks")).toMatchObject({
      isError: true,
      content: [
        { text: expect.stringMatching(odd) },
        { text: expect.stringMatching(odd) },
        { text: "whole" },
      ],
    });
    expect(await client.callTool("nulls")).toMatchObject({
      content: [
        { type: "image", data: "AAAA", mimeType: "image/png" },
        { type: "resource", resource: { uri: "a:b", text: "c" } },
        { type: "text", text: "dated" },
      ],
    });
    const { tasks } = await served.tasks.admin.list({ states: ["running", "waiting", "input_required"] });
    expect(tasks).toEqual([]);
  },
);

const catastrophic = `${"a".repeat(60)}!`;

it(
  "leaves to a program what takes years to check of its schemas and forms, and refuses at once what is plainly wrong",
  { timeout: deadline },
  async () => {
    const served = await gateway([
      mcpUpstream("hostile", { command: process.execPath, args: ["-e", program] }),
    ]);
    const client = await clientOf(served, {
      onInput: async () => ({ action: "accept", content: { a: catastrophic } }),
    });
    const judged = { content: [{ type: "text", text: "judged" }] };
    expect(await client.callTool("slow", { a: catastrophic })).toMatchObject(judged);
    expect(await client.callTool("doubled")).toMatchObject(judged);
    const list = Array.from({ length: 60_000 }, (_, index) => ({ index }));
    expect(await client.callTool("unique", { list })).toMatchObject(judged);
    expect(await client.callTool("asks-slowly")).toMatchObject({
      content: [{ type: "text", text: `accept ${catastrophic}` }],
    });
    expect(JSON.stringify(await client.callTool("slow", { a: 5 }))).toMatch(/must be string/);
    expect(JSON.stringify(await client.callTool("slow", {}))).toMatch(/required property 'a'/);
  },
);

it(
  "fails a call honestly whose server breaks off in the middle of its answer over HTTP",
  { timeout: deadline },
  async () => {
    let calls = 0;
    const http = createServer((request, response) => {
      void textOf(request).then((body) => {
        const { id, method } = (body === "" ? {} : JSON.parse(body)) as { id?: number; method?: string };
        const answer = (result: object): void => {
          response.setHeader("content-type", "application/json");
          response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
        };
        if (method === "initialize")
          answer({
            protocolVersion: "2025-06-18",
            capabilities: { tools: {} },
            serverInfo: { name: "half", version: "1" },
          });
        else if (method === "tools/list")
          answer({ tools: [{ name: "half", inputSchema: { type: "object" } }] });
        else if (method === "tools/call") {
          calls++;
          response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
          response.write(`{"jsonrpc":"2.0","id":${String(id)},"result":{"content":[`, () =>
            response.destroy(),
          );
        } else response.writeHead(id === undefined ? 202 : 405).end();
      });
    });
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      http.closeAllConnections();
      http.close();
    });
    const { port } = http.address() as AddressInfo;
    const client = await clientOf(
      await gateway([
        mcpUpstream("half", { url: `http://127.0.0.1:${port}/mcp`, protocolVersion: "earlier" }),
      ]),
    );
    await until(async () => (await client.listTools()).tools.some(({ name }) => name === "half"));
    const result = await client.callTool("half").catch(String);
    expect(JSON.stringify(result)).toMatch(/not known whether the call had an effect/);
    expect(calls).toBe(1);
  },
);

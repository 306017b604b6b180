import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { problemsOf, ReadableLists, withParts } from "../../src/client/reply/readable-lists.ts";

const good = { name: "add", inputSchema: { type: "object", properties: { a: { type: "number" } } } };

function read(method: string, result: Record<string, unknown>): Record<string, unknown> {
  const lists = new ReadableLists();
  lists.rewriteOutgoing({ jsonrpc: "2.0", id: 1, method });
  const answer = lists.rewriteIncoming({ jsonrpc: "2.0", id: 1, result });
  if (!("result" in answer)) throw new Error("no result");
  return answer.result;
}

it.each<[unknown, string]>([
  [{ name: "x" }, 'tool "x": inputSchema is missing'],
  [{ name: "x", inputSchema: null }, 'tool "x": inputSchema is missing'],
  [{ name: "x", inputSchema: "none" }, 'tool "x": inputSchema is not an object'],
  [{ name: "x", inputSchema: { type: "string" } }, 'tool "x": inputSchema is invalid'],
  [{ inputSchema: {} }, "tool number 1: name is missing"],
  [{ name: 7, inputSchema: {} }, "tool number 1: name is not a text"],
  [null, "tool number 1: it is not an object"],
  ["x", "tool number 1: it is not an object"],
])("leaves out a tool that is %j, and names it", (bad, problem) => {
  const list = read("tools/list", { tools: [bad, good], nextCursor: null });
  expect(list).toMatchObject({ tools: [good] });
  expect(list).not.toHaveProperty("nextCursor");
  expect(problemsOf(list)).toEqual([problem]);
});

it.each<[string, string, object, object]>([
  ["tools/list", "tools", { name: "a", inputSchema: {} }, { inputSchema: { type: "object" } }],
  ["tools/list", "tools", { ...good, description: null, annotations: null }, good],
  ["resources/list", "resources", { uri: "a://b" }, { uri: "a://b", name: "a://b" }],
  ["resources/templates/list", "resourceTemplates", { uriTemplate: "a://{b}" }, { name: "a://{b}" }],
  ["prompts/list", "prompts", { name: "p", arguments: null }, { name: "p" }],
])("reads an item of %s as it was meant, in %s: %j", (method, member, item, meant) => {
  const list = read(method, { [member]: [item] });
  expect(list[member]).toEqual([expect.objectContaining(meant)]);
  expect(problemsOf(list)).toEqual([]);
});

it("leaves out the bad parts of an item that can do without them, and names each", () => {
  const list = read("tools/list", { tools: [{ ...good, title: 7, description: "Adds", outputSchema: 1 }] });
  expect(list["tools"]).toEqual([{ ...good, description: "Adds" }]);
  expect(problemsOf(list)).toEqual([
    'tool "add": title is invalid, and left out',
    'tool "add": outputSchema is invalid, and left out',
  ]);
});

it("finds a bad part among very many within a moment", () => {
  const others = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`x${n}`, n]));
  const list = read("tools/list", { tools: [{ ...good, ...others, title: 7 }] });
  expect(list["tools"]).toEqual([{ ...good, ...others }]);
  expect(problemsOf(list)).toEqual(['tool "add": title is invalid, and left out']);
});

it("names a cursor that is no text, and keeps what came with it", () => {
  const list = read("tools/list", { tools: [good], nextCursor: 5 });
  expect(list).toMatchObject({ tools: [good] });
  expect(list).not.toHaveProperty("nextCursor");
  expect(problemsOf(list)).toEqual([
    "nextCursor is not a text: what comes after these tools cannot be asked for",
  ]);
});

it("leaves out the schema of an output that is no object, where it has to be one", () => {
  const lists = new ReadableLists();
  const answer = (method: string, result: Record<string, unknown>): unknown => {
    lists.rewriteOutgoing({ jsonrpc: "2.0", id: 1, method });
    const message = lists.rewriteIncoming({ jsonrpc: "2.0", id: 1, result });
    return "result" in message ? message.result : undefined;
  };
  const tool = { ...good, outputSchema: { type: "array" } };
  answer("server/discover", {});
  expect(answer("tools/list", { tools: [tool] })).toEqual({ tools: [tool] });
  answer("initialize", {});
  const earlier = answer("tools/list", { tools: [tool, good] });
  expect(earlier).toMatchObject({ tools: [good, good] });
  expect(problemsOf(earlier)).toEqual(['tool "add": outputSchema is invalid, and left out']);
});

it("reads the introduction of a server that says less than it must, or says it otherwise", () => {
  expect(read("initialize", { protocolVersion: "2025-06-18" })).toEqual({
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "unknown", version: "unknown" },
  });
  const capabilities = { tools: true, logging: false, prompts: [], resources: { subscribe: true } };
  expect(read("initialize", { capabilities, serverInfo: { name: "careless", version: 2 } })).toEqual({
    capabilities: { tools: {}, resources: { subscribe: true } },
    serverInfo: { name: "careless", version: "2" },
  });
});

it("takes only from itself what it keeps in _meta: a server could replace any part of an answer, unread", () => {
  const parts = { "holdfast/parts": { contents: 5 } };
  const answer = { contents: [], _meta: { ...parts, own: 1 } };
  expect(withParts(read("resources/read", answer))).toEqual({ contents: [], _meta: { own: 1 } });
  const list = read("tools/list", { tools: [good], _meta: { "holdfast/problems": [{ toString: 1 }] } });
  expect(problemsOf(list)).toEqual([]);
});

it("leaves everything else as it is: other answers, errors, lists that are none", () => {
  const lists = new ReadableLists();
  const messages: JSONRPCMessage[] = [
    { jsonrpc: "2.0", id: 2, result: { tools: [null] } },
    { jsonrpc: "2.0", method: "notifications/x" },
    { jsonrpc: "2.0", id: 1, error: { code: 1, message: "no" } },
  ];
  lists.rewriteOutgoing({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  for (const message of messages) expect(lists.rewriteIncoming(message)).toBe(message);
  expect(read("tools/list", { tools: "none" })).toEqual({ tools: "none" });
});

it.each(["initialize", "server/discover"])(
  "leaves out what is null where a server introduces itself by %s",
  (method) => {
    const requests = { tools: { call: {} } };
    const capabilities = { tools: { listChanged: null }, prompts: null, tasks: { requests, list: null } };
    const serverInfo = { name: "nulls", version: "1", title: null };
    expect(read(method, { capabilities, serverInfo, instructions: null })).toEqual({
      capabilities: { tools: {}, tasks: { requests } },
      serverInfo: { name: "nulls", version: "1" },
    });
  },
);

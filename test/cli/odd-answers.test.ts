import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/generation/message.ts";
import { changed, controls, oddValue } from "./odd-values.ts";
import { folder } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

const at = "2026-10-01T00:00:00Z";
const question = {
  mode: "form",
  message: "Send it?",
  requestedSchema: { type: "object", properties: { ok: { type: "boolean", title: "OK" } }, required: ["ok"] },
};
const schema = {
  type: "object",
  properties: { a: { type: "string", description: "A" }, n: { $ref: "#/$defs/n" } },
  $defs: { n: { type: "integer" } },
};
const task = {
  taskId: "t1",
  status: "completed",
  createdAt: at,
  lastUpdatedAt: at,
  ttl: 60_000,
  pollInterval: 1,
};
const content = [
  { type: "text", text: "done" },
  { type: "image", data: "eA==", mimeType: "image/png" },
  { type: "resource_link", uri: "a://b", name: "b", size: 3 },
  { type: "resource", resource: { uri: "a://c", text: "c" } },
];
const result = { content, structuredContent: { rows: [{ a: 1, b: "x" }] }, isError: false };

/** What a server without faults answers. */
const right: Readonly<Record<string, JsonObject>> = {
  initialize: {
    protocolVersion: "2025-11-25",
    capabilities: {
      tools: {},
      resources: {},
      prompts: {},
      completions: {},
      logging: {},
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    },
    serverInfo: { name: "odd", version: "1" },
    instructions: "None",
  },
  "server/discover": {
    supportedVersions: ["2026-07-28"],
    capabilities: {
      tools: {},
      resources: {},
      prompts: {},
      completions: {},
      extensions: { "io.modelcontextprotocol/tasks": {} },
    },
    serverInfo: { name: "odd", version: "1" },
    ttlMs: 60_000,
    cacheScope: "private",
  },
  "tools/list": {
    tools: [
      {
        name: "t",
        title: "T",
        description: "A tool",
        inputSchema: schema,
        outputSchema: { type: "object" },
        annotations: { readOnlyHint: true },
        execution: { taskSupport: "optional" },
      },
    ],
  },
  "tools/call": { ...result, task: { ...task, status: "working" } },
  "tasks/get": task,
  "tasks/result": result,
  "tasks/list": { tasks: [task] },
  "tasks/cancel": { ...task, status: "cancelled" },
  "resources/list": { resources: [{ uri: "a://b", name: "b", title: "B", mimeType: "text/plain", size: 3 }] },
  "resources/templates/list": {
    resourceTemplates: [{ uriTemplate: "a://{x}", name: "x", description: "X" }],
  },
  "resources/read": {
    contents: [
      { uri: "a://b", mimeType: "text/plain", text: "b" },
      { uri: "a://c", blob: "eA==" },
    ],
  },
  "prompts/list": {
    prompts: [{ name: "p", description: "P", arguments: [{ name: "a", description: "A", required: true }] }],
  },
  "prompts/get": { description: "P", messages: [{ role: "user", content: { type: "text", text: "hi" } }] },
  "completion/complete": { completion: { values: ["a", "b"], total: 3, hasMore: true } },
  ping: {},
};

const commands: readonly (readonly string[])[] = [
  ["tools"],
  ["tools", "t"],
  ["call", "t", "a=1"],
  ["call", "t", "--detach"],
  ["resources"],
  ["read", "a://b"],
  ["prompts"],
  ["prompt", "p", "a=1"],
  ["complete", "prompt", "p", "a=1"],
  ["ping"],
  ["doctor"],
];
const aboutTask: readonly (readonly string[])[] = [
  ["get"],
  ["result"],
  ["cancel"],
  ["logs"],
  ["answer", "--decline"],
];

/** The place of a change, as the numbers of members, and what comes there; `undefined` removes it. */
interface Fault {
  readonly method: string;
  readonly path: readonly number[];
  readonly value: unknown;
}

const methods = Object.keys(right);
const fault = fc.record({
  method: fc.constantFrom(...methods),
  path: fc.array(fc.nat(20), { maxLength: 4 }),
  value: fc.oneof(
    oddValue,
    fc.constant({ inputRequests: { q: { method: "elicitation/create", params: question } } }),
  ),
});

let http: Server;
let url = "";
let faults: readonly Fault[] = [];
/** Whether the server speaks 2026-07-28. */
let isModern = false;

beforeAll(async () => {
  http = createServer((request, response) => {
    void text(request).then((body) => {
      const message: unknown = body === "" ? {} : JSON.parse(body);
      const { id, method } = isJsonObject(message) ? message : {};
      if (id === undefined || typeof method !== "string")
        return response.writeHead(request.method === "POST" ? 202 : 405).end();
      const known = method === "server/discover" && !isModern ? undefined : right[method];
      const good =
        known && isModern ? { resultType: "complete", ttlMs: 1, cacheScope: "private", ...known } : known;
      const answer = faults
        .filter((each) => each.method === method)
        .reduce<unknown>((before, each) => changed(before, each.path, each.value), good);
      const error = { code: -32601, message: `no ${method}` };
      response.setHeader("content-type", "application/json");
      return response.end(
        JSON.stringify({ jsonrpc: "2.0", id, ...(good === undefined ? { error } : { result: answer }) }),
      );
    });
  }).listen(0, "127.0.0.1");
  await once(http, "listening");
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
});
afterAll(() => http.close());

it(
  "prints whatever a server sends, and never takes it for a fault of its own",
  { timeout: 300_000 },
  async () => {
    const env = { HOLDFAST_STATE: await folder() };
    const about = aboutTask.map(([command = "", ...rest]) => [command, "t1", ...rest, "--server"]);
    const command = fc.oneof(
      fc.constantFrom(...commands).map(([name = "", ...rest]) => [name, url, ...rest]),
      fc.constantFrom(...about).map((words) => [...words, url]),
    );
    const run = fc.asyncProperty(
      command,
      fc.array(fault, { minLength: 1, maxLength: 3 }),
      fc.constantFrom<readonly string[]>([], ["--json"]),
      fc.constantFrom(undefined, 80),
      fc.boolean(),
      async (words, given, json, columns, modern) => {
        isModern = modern;
        faults = given;
        const ended = await runMain([...words, ...json, "--timeout", "2"], {
          env,
          ...(columns && { columns }),
        });
        if (ended.code === 70) throw new Error(`exit code 70: ${ended.stderr}${ended.stdout}`);
        if (columns !== undefined) expect(ended.stdout).not.toMatch(controls);
        expect(ended.stderr).not.toMatch(controls);
        expect(ended.stderr + ended.stdout).not.toMatch(/^\s+at \S+ \(|"invalid_type"|ZodError/m);
      },
    );
    await fc.assert(run, { numRuns: Number(process.env["HOLDFAST_RUNS"] ?? 100) });
  },
);

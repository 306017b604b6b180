import { readdirSync, readFileSync } from "node:fs";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { bothForms, type Sending } from "./both-forms.ts";
import { fuzzRuns, fuzzTimeoutMs } from "./fuzz-runs.ts";
import { mutated } from "./hostile-json.ts";

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "fuzz", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
};
const plain = { ...meta, "io.modelcontextprotocol/clientCapabilities": {} };

const headersOf = (method: string, name: string): [string, string][] => [
  ["content-type", "application/json"],
  ["accept", "application/json, text/event-stream"],
  ["mcp-protocol-version", "2026-07-28"],
  ["mcp-method", method],
  ["mcp-name", name],
];

function sending(
  method: string,
  params: Record<string, unknown>,
  _meta: object = meta,
  id: unknown = 1,
): Sending {
  const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta } });
  return { headers: headersOf(method, String(params["name"] ?? params["taskId"])), body };
}

interface Entry {
  readonly from: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly message: unknown;
}

const golden = new URL("../wire/golden/", import.meta.url);
const recorded = readdirSync(golden)
  .filter((name) => name.endsWith(".jsonl"))
  .flatMap((name) => readFileSync(new URL(name, golden), "utf8").trim().split("\n"))
  .map((line) => JSON.parse(line) as Entry)
  .filter(({ from }) => from === "client");

it("answers each recorded request the same as node:http gives it and as a web Request", async () => {
  const both = await bothForms();
  await both.web(sending("tasks/get", { taskId: "unknown" }));
  expect(recorded.length).toBeGreaterThan(20);
  for (const { headers, message } of recorded) {
    const same = {
      headers: [
        ["content-type", "application/json"],
        ["accept", "application/json, text/event-stream"],
        ...Object.entries(headers),
      ] as [string, string][],
      body: JSON.stringify(message),
    };
    expect(await both.node(same)).toEqual(await both.web(same));
  }
});

/** Right most of the time, so that what differs is looked at by itself. */
const usually = (right: string, ...odd: string[]): fc.Arbitrary<string | null> =>
  fc.oneof(
    { weight: 40, arbitrary: fc.constant(right) },
    { weight: 1, arbitrary: fc.constantFrom(null, ...odd) },
  );

const rarely = (...odd: string[]): fc.Arbitrary<string | null> =>
  fc.oneof({ weight: 20, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.constantFrom(...odd) });

function hostile(right: Sending): fc.Arbitrary<Sending> {
  const [type, accept, version, method, name] = right.headers.map(([, value]) => value) as [
    string,
    string,
    string,
    string,
    string,
  ];
  const headers = fc.record({
    "content-type": usually(type, "application/json; charset=utf-8", "Application/JSON", "text/plain"),
    accept: usually(accept, "*/*", "application/json"),
    "mcp-protocol-version": usually(version, "2025-11-25", " 2026-07-28 ", "2099-01-01"),
    "mcp-method": usually(method, "tasks/get", ` ${method}`, method.toUpperCase(), "x"),
    "mcp-name": usually(
      name,
      `=?base64?${Buffer.from(name).toString("base64")}?=`,
      `${name} `,
      "=?base64?%?=",
      "x",
    ),
    origin: rarely("http://localhost", "https://evil.example"),
    host: usually("localhost", "127.0.0.1:80", "evil.example", "LOCALHOST", "a b"),
    "x-forwarded-for": fc.constantFrom(null, "10.0.0.1"),
    "mcp-session-id": rarely("unknown"),
    "content-encoding": rarely("identity"),
  });
  const path = rarely("/mcp?a=b", "/MCP", "/mcp/", "//mcp").map((odd) => odd ?? "/mcp");
  const verb = rarely("PUT", "DELETE").map((odd) => odd ?? "POST");
  const body = fc.oneof(
    { weight: 6, arbitrary: fc.constant(right.body) },
    { weight: 4, arbitrary: mutated(fc.constant(JSON.parse(right.body as string))) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        "",
        "[]",
        `[${right.body as string}]`,
        "\ufeff",
        ` ${right.body as string} `,
      ),
    },
    { weight: 1, arbitrary: fc.constant(new Uint8Array([0x7b, 0xff, 0x7d])) },
  );
  return fc.tuple(verb, path, headers, body).map(([verbName, at, given, bytes]) => ({
    method: verbName,
    path: at,
    headers: Object.entries(given).filter((header): header is [string, string] => header[1] !== null),
    body: bytes,
  }));
}

it(
  "answers any request the same in both forms",
  async () => {
    const both = await bothForms();
    await both.web(sending("tasks/get", { taskId: "unknown" }));
    const rights = [
      sending("tasks/get", { taskId: "unknown" }),
      sending("tasks/get", { taskId: "unknown" }, plain),
      sending("tasks/cancel", { taskId: "unknown" }, meta, "a"),
      sending("tasks/update", { taskId: "unknown", inputResponses: {} }),
      sending("tools/call", { name: "works", arguments: { a: 1 } }),
      sending("tools/call", { name: "works", arguments: { a: 1 } }, { ...plain, progressToken: 1 }),
      sending("tools/call", { name: "only", arguments: {} }, plain),
      sending("tools/call", { name: "greet", arguments: { name: "Ann" } }, plain, 0),
      sending("tools/call", { name: "greet", arguments: { name: 1 } }),
      sending("tools/call", { name: "prepares", arguments: {} }),
      sending("tools/call", { name: "task_result", arguments: { reference: "x" } }, plain),
    ];
    await fc.assert(
      fc.asyncProperty(fc.oneof(...rights.map(hostile)), async (any) => {
        expect(await both.node(any)).toEqual(await both.web(any));
      }),
      fuzzRuns(400),
    );
  },
  fuzzTimeoutMs,
);

import * as fc from "fast-check";
import { hostileText, mutated } from "./hostile-json.ts";
import type { Known } from "./front.ts";

type Header = readonly [name: string, value: string];

export interface HostileRequest {
  readonly method: string;
  readonly headers: readonly Header[];
  readonly body: Uint8Array<ArrayBuffer> | undefined;
}

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {
    elicitation: {},
    extensions: { "io.modelcontextprotocol/tasks": {} },
  },
};

const tools = [
  ..."greet works only asks prepares echo ask_user progress none".split(" "),
  ..."task_result task_cancel task_answer task_list".split(" "),
];
const tool = fc.constantFrom(...tools);
const args = fc.constantFrom(
  { name: "Ann", say: "a" },
  { reference: "2222-2222" },
  { reference: "x", answer: {} },
  {},
);
const clientInfo = { name: "fuzz", version: "1" };

/** The params of requests that a correct client might send, by their method. */
function validParams({
  taskIds,
  requestState,
}: Known): fc.Arbitrary<readonly [method: string, params: object]> {
  const taskId = fc.constantFrom(...taskIds, "unknown", "");
  const answer = { action: "accept", content: { name: "Ann" } };
  const inputResponses = { name: answer };
  const call = fc.record({ name: tool, arguments: args });
  const task = fc.constantFrom({}, { ttl: 5_000 });
  type Sent = readonly [method: string, params: object];
  const plain: Sent[] = [
    ["initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo }],
    ["notifications/initialized", {}],
    ["notifications/cancelled", { requestId: 1 }],
    ["notifications/tasks/status", { taskId: "t", status: "working" }],
    ["server/discover", {}],
    ["tools/list", {}],
    ["tasks/list", {}],
    ["tasks/list", { cursor: "MTp4" }],
    ["resources/read", { uri: "test://note" }],
    ["prompts/get", { name: "greeting" }],
    ["ping", {}],
    ["logging/setLevel", { level: "debug" }],
    [
      "completion/complete",
      { ref: { type: "ref/prompt", name: "greeting" }, argument: { name: "a", value: "" } },
    ],
  ];
  const about = fc.constantFrom("tasks/get", "tasks/result", "tasks/cancel");
  return fc.oneof(
    call.map((params): Sent => ["tools/call", params]),
    fc.tuple(call, task).map(([params, asked]): Sent => ["tools/call", { ...params, task: asked }]),
    fc.constant<Sent>(["tools/call", { name: "prepares", arguments: {}, requestState, inputResponses }]),
    fc.tuple(about, taskId).map(([method, id]): Sent => [method, { taskId: id }]),
    taskId.map((id): Sent => ["tasks/update", { taskId: id, inputResponses }]),
    fc.array(taskId, { maxLength: 4 }).map((ids): Sent => {
      return ["subscriptions/listen", { notifications: { taskIds: ids, toolsListChanged: true } }];
    }),
    fc.constantFrom(...plain),
  );
}

/** Messages as both eras have them, and answers to questions that may be open. */
function message(known: Known, modern: boolean): fc.Arbitrary<object> {
  const id = fc.oneof(
    fc.integer(),
    fc.uuid(),
    fc.constantFrom<unknown>(0, "__proto__", undefined, null, 1.5),
  );
  const request = fc.tuple(id, validParams(known)).map(([number, [method, params]]) => ({
    jsonrpc: "2.0",
    ...(number !== undefined && !method.startsWith("notifications/") && { id: number }),
    method,
    params: modern ? { ...params, _meta: meta } : params,
  }));
  const result = { action: "accept", content: { name: "Ann" } };
  const reply = fc.constantFrom(
    { jsonrpc: "2.0", id: "holdfast-1", result },
    { jsonrpc: "2.0", id: 0, result: { roots: [] } },
    { jsonrpc: "2.0", id: "holdfast-1", error: { code: -1, message: "no" } },
    { jsonrpc: "2.0", id: null, error: { code: -1, message: "no" } },
  );
  return fc.oneof({ weight: 9, arbitrary: request }, { weight: 1, arbitrary: reply });
}

const deep = fc
  .constantFrom("[", '{"a":')
  .map((open) => `{"jsonrpc":"2.0","id":1,"method":"ping","x":${open.repeat(10_000)}`);

function rarely<T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: 15, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });
}

/** Bytes of a body: JSON for the most part, cut or with bytes in it that are no text. */
export function hostileBody(known: Known, modern: boolean): fc.Arbitrary<Uint8Array<ArrayBuffer>> {
  const one = message(known, modern);
  const json = fc.oneof(
    { weight: 12, arbitrary: mutated(one) },
    { weight: 3, arbitrary: fc.array(mutated(one), { maxLength: 5 }).map((texts) => `[${texts.join(",")}]`) },
    { weight: 2, arbitrary: hostileText },
    { weight: 1, arbitrary: deep },
    { weight: 1, arbitrary: fc.constantFrom("", " ", "\ufeff{}", "x".repeat(300_000), "[]", "[[]]") },
  );
  const cut = rarely(fc.nat(400));
  const dirt = rarely(fc.tuple(fc.nat(400), fc.uint8Array({ maxLength: 4 })));
  return fc.tuple(json, cut, dirt).map(([text, end, dirty]) => {
    const bytes = new Uint8Array(Buffer.from(text));
    const [at, bytesThere] = dirty ?? [0, new Uint8Array()];
    if (at + bytesThere.length <= bytes.length) bytes.set(bytesThere, at);
    return end === null ? bytes : bytes.slice(0, end);
  });
}

const versions = [
  "2026-07-28",
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2099-01-01",
  "",
  "__proto__",
];
/** Any request that HTTP can carry, most of them about something that is there. */
export function hostileRequest(known: Known): fc.Arbitrary<HostileRequest> {
  const { sessionId, eventId } = known;
  return fc.boolean().chain((modern) => {
    /** Right most of the time, or nothing of the body would ever be looked at. */
    const usually = (name: string, right: string | null, ...odd: string[]): fc.Arbitrary<Header | null> =>
      fc
        .oneof(
          { weight: 20, arbitrary: fc.constant(right) },
          { weight: 1, arbitrary: fc.constantFrom(null, ...odd) },
        )
        .map((value) => (value === null ? null : [name, value]));
    const ours = modern ? null : (sessionId ?? null);
    const headers = fc.tuple(
      usually("content-type", "application/json", "application/json; charset=utf-16", "text/plain", ""),
      usually("accept", "application/json, text/event-stream", "application/json", "text/html", "*/*"),
      usually("mcp-protocol-version", modern ? "2026-07-28" : "2025-11-25", ...versions),
      usually("mcp-method", null, "tools/call", "tasks/get", "subscriptions/listen", "x"),
      usually("mcp-name", null, "greet", "works", "=?utf-8?q?a?="),
      usually("mcp-session-id", ours, "unknown", "__proto__"),
      usually("last-event-id", null, eventId, "1@x", "0@_GET_stream", "-1", "__proto__"),
      usually("origin", null, "http://localhost", "https://evil.example", "null"),
      usually("x-long", null, "x".repeat(4_000)),
    );
    const verb = fc.oneof(
      { weight: 30, arbitrary: fc.constant("POST") },
      { weight: 3, arbitrary: fc.constantFrom("GET", "PUT", "PATCH", "HEAD", "OPTIONS", "DELETE") },
    );
    return fc.tuple(verb, headers, hostileBody(known, modern)).map(([name, given, bytes]) => {
      // Her own session is left open, or there would be nothing to be about.
      const ends = name === "DELETE" ? given.filter((header) => header?.[1] !== sessionId) : given;
      const filled = ends.filter((header) => header !== null);
      if (!modern || name !== "POST" || filled.some(([header]) => header === "mcp-method")) {
        return { method: name, headers: filled, body: ["GET", "HEAD"].includes(name) ? undefined : bytes };
      }
      return { method: name, headers: [...filled, ...namesIn(bytes)], body: bytes };
    });
  });
}

/** The headers that repeat what is in the body, as a client of 2026-07-28 has to send them. */
function namesIn(bytes: Uint8Array): Header[] {
  try {
    const { method, params } = JSON.parse(Buffer.from(bytes).toString()) as {
      method?: unknown;
      params?: Record<string, unknown>;
    };
    const name = params?.["name"] ?? params?.["taskId"];
    const headers: Header[] = [["mcp-method", String(method)]];
    return typeof name === "string" && /^[\x21-\x7e]+$/.test(name)
      ? [...headers, ["mcp-name", name]]
      : headers;
  } catch {
    return [];
  }
}

/** Bytes on a connection: HTTP, nearly. */
export function rawRequest(port: string): fc.Arbitrary<Uint8Array> {
  const start = `POST /mcp HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\n`;
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  const whole = fc.constantFrom(
    `${start}Content-Length: ${ping.length}\r\n\r\n${ping}`,
    `${start}Content-Length: 5\r\n\r\n${ping}`,
    `${start}Content-Length: 99999999999\r\n\r\n${ping}`,
    `${start}Content-Length: -1\r\n\r\n${ping}`,
    `${start}Transfer-Encoding: chunked\r\n\r\n28\r\n${ping}\r\n0\r\n\r\n`,
    `${start}Transfer-Encoding: chunked\r\n\r\nffffffff\r\n${ping}`,
    `${start}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n28\r\n${ping}\r\n0\r\n\r\n`,
    `${start}Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\u001f\u008b\u0008\u0000`,
    `${start}Expect: 100-continue\r\nContent-Length: ${ping.length}\r\n\r\n${ping}`,
    `${start}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
    `${start}${"X-Many: 1\r\n".repeat(3_000)}\r\n`,
    `${start}Mcp-Session-Id: ${"x".repeat(20_000)}\r\n\r\n`,
    `${start}Host: other.example\r\n\r\n`,
    "GET http://[::1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "GET //mcp/../../mcp?x=%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "GET /mcp HTTP/1.1\r\nHost: \r\n\r\n",
    "GET /mcp HTTP/1.1\r\nHost: a b\r\n\r\n",
    "GET /mcp HTTP/1.0\r\n\r\n",
    "CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TRACE /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "\u0016\u0003\u0001\u0002\u0000",
  );
  const flip = fc.tuple(fc.nat(300), fc.nat(255));
  return fc
    .tuple(whole, fc.array(flip, { maxLength: 3 }), fc.option(fc.nat(300)))
    .map(([text, flips, end]) => {
      const bytes = Buffer.from(text, "latin1");
      for (const [at, byte] of flips) if (at < bytes.length) bytes[at] = byte;
      return end === null ? bytes : bytes.subarray(0, end);
    });
}

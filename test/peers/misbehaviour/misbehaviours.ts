/** What a faulty server does in the place of one answer. */
export interface Misbehaviour {
  readonly name: string;
  /** The request that it answers in its own way; it answers all others well. */
  readonly method: "initialize" | "tools/list" | "tools/call";
  /** The lines that it writes, by the request's id as JSON. `exit`: it ends the connection instead. */
  readonly lines: (id: string) => readonly string[] | "exit";
  /** What a client says, or `works`, where the fault can be read as it was meant. */
  readonly expected: RegExp | "works";
}

export const tool = { name: "t", inputSchema: { type: "object" } };
export const done = { content: [{ type: "text", text: "done" }] };
export const hello = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: {} },
  serverInfo: { name: "faulty", version: "1" },
};

type Method = Misbehaviour["method"];

/** Another result. */
function result(
  method: Method,
  name: string,
  value: unknown,
  expected: Misbehaviour["expected"],
): Misbehaviour {
  const json = JSON.stringify(value);
  return {
    name: `${method}: ${name}`,
    method,
    expected,
    lines: (id) => [`{"jsonrpc":"2.0","id":${id},"result":${json}}`],
  };
}

/** Another message, in which `ID` stands for the id of the request. */
function text(
  method: Method,
  name: string,
  messages: readonly string[] | "exit",
  expected: Misbehaviour["expected"],
): Misbehaviour {
  const lines = (id: string): readonly string[] | "exit" =>
    messages === "exit" ? messages : messages.map((message) => message.replaceAll("ID", id));
  return { name: `${method}: ${name}`, method, expected, lines };
}

const { capabilities: _1, ...noCapabilities } = hello;
const { serverInfo: _2, ...noServerInfo } = hello;
const { protocolVersion: _3, ...noVersion } = hello;
const answer = (value: object): string => `{"jsonrpc":"2.0","id":ID,"result":${JSON.stringify(value)}}`;

export const misbehaviours: readonly Misbehaviour[] = [
  result("initialize", "no protocolVersion", noVersion, /protocolVersion is missing/),
  result(
    "initialize",
    "a number as protocolVersion",
    { ...hello, protocolVersion: 7 },
    /protocolVersion is invalid/,
  ),
  result(
    "initialize",
    "a version that does not exist",
    { ...hello, protocolVersion: "1999-01-01" },
    /1999-01-01/,
  ),
  result("initialize", "no capabilities", noCapabilities, "works"),
  result("initialize", "a list as capabilities", { ...hello, capabilities: [] }, "works"),
  result("initialize", "no serverInfo", noServerInfo, "works"),
  result("initialize", "null as result", null, /result is null/),
  result("initialize", "a list as result", [], /result is a list|result is an array/),
  text(
    "initialize",
    "an error",
    ['{"jsonrpc":"2.0","id":ID,"error":{"code":-32600,"message":"Not today"}}'],
    /Not today/,
  ),
  text(
    "initialize",
    "an error that is a text",
    ['{"jsonrpc":"2.0","id":ID,"error":"Not today"}'],
    /error is a (string|text)/,
  ),
  text(
    "initialize",
    "result and error",
    ['{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"m"}}'],
    /both a result and an error/,
  ),
  text(
    "initialize",
    "the end of the connection",
    "exit",
    /exited with code 3|hang up|ECONNRESET|ended|closed/,
  ),
  text("initialize", "a second answer", [answer(hello), answer({ other: 1 })], "works"),
  result("tools/list", "no tools", {}, /tools is missing/),
  result("tools/list", "null as tools", { tools: null }, /tools is invalid/),
  result("tools/list", "a tool without name", { tools: [{ inputSchema: {} }, tool] }, /name is missing/),
  result("tools/list", "a tool that is a text", { tools: ["t", tool] }, /tool/),
  result(
    "tools/list",
    "a tool without inputSchema",
    { tools: [tool, { name: "u" }] },
    /tool "u": inputSchema is missing/,
  ),
  result(
    "tools/list",
    "a text as inputSchema",
    { tools: [tool, { name: "u", inputSchema: "x" }] },
    /tool "u": inputSchema/,
  ),
  result("tools/list", "null as nextCursor", { tools: [tool], nextCursor: null }, "works"),
  result("tools/list", "a number as nextCursor", { tools: [tool], nextCursor: 7 }, /nextCursor/),
  result("tools/list", "the same nextCursor for ever", { tools: [tool], nextCursor: "again" }, "works"),
  text(
    "tools/list",
    "an error",
    ['{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"Broken"}}'],
    /Broken|does not list/,
  ),
  result("tools/list", "a text as result", "none", /result is a (string|text)/),
  result("tools/call", "no content", {}, "works"),
  result("tools/call", "a text as content", { content: "done" }, /content that is not a list/),
  result("tools/call", "null in the content", { content: [null] }, "works"),
  result("tools/call", "content of an unknown kind", { content: [{ type: "hologram" }] }, "works"),
  result("tools/call", "text without text", { content: [{ type: "text" }] }, "works"),
  result("tools/call", "a text as structuredContent", { ...done, structuredContent: "x" }, "works"),
  result("tools/call", "a text as isError", { ...done, isError: "yes" }, "works"),
  result("tools/call", "a megabyte", { content: [{ type: "text", text: "x".repeat(1_000_000) }] }, "works"),
  text(
    "tools/call",
    "an error that is null",
    ['{"jsonrpc":"2.0","id":ID,"error":null}'],
    /neither a result nor an error|error is null/,
  ),
  text(
    "tools/call",
    "an error whose code is a text",
    ['{"jsonrpc":"2.0","id":ID,"error":{"code":"E","message":"Broken"}}'],
    /code of its error.*Broken/,
  ),
  text(
    "tools/call",
    "an error without a message",
    ['{"jsonrpc":"2.0","id":ID,"error":{"code":-32000}}'],
    /no message/,
  ),
  text("tools/call", "no version of JSON-RPC", [`{"id":ID,"result":${JSON.stringify(done)}}`], "works"),
  text(
    "tools/call",
    "the end of the connection",
    "exit",
    /exited with code 3|hang up|ECONNRESET|ended|closed|not be reached/,
  ),
  text(
    "tools/call",
    "an answer to nobody first",
    [answer(done).replace("ID", '"nobody"'), answer(done)],
    "works",
  ),
  text(
    "tools/call",
    "an unknown notification first",
    ['{"jsonrpc":"2.0","method":"notifications/odd","params":[1]}', answer(done)],
    "works",
  ),
  text(
    "tools/call",
    "a request of the server without params first",
    ['{"jsonrpc":"2.0","id":"q","method":"odd/method"}', answer(done)],
    "works",
  ),
  text(
    "tools/call",
    "progress of nothing first",
    ['{"jsonrpc":"2.0","method":"notifications/progress","params":{}}', answer(done)],
    "works",
  ),
];

/** The lines that answer a message; none for one that wants no answer. */
export function linesFor(
  { id, method }: { readonly id?: unknown; readonly method?: unknown },
  fault: Misbehaviour,
): readonly string[] | "exit" {
  if (id === undefined || typeof method !== "string") return [];
  if (method === fault.method) return fault.lines(JSON.stringify(id));
  const results: Readonly<Record<string, object>> = {
    initialize: hello,
    "tools/list": { tools: [tool] },
    "tools/call": done,
    ping: {},
  };
  const value = results[method];
  const error = { code: -32601, message: `no ${method}` };
  return [JSON.stringify({ jsonrpc: "2.0", id, ...(value === undefined ? { error } : { result: value }) })];
}

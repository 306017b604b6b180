import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { basename } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import { connect } from "../../src/client/connect.ts";
import type { ServerTarget } from "../../src/client/transport/server-connection.ts";

/** What a careless server of 2025-06-18 answers to calls, as the text of its answer to the request `id`. */
const answers: Readonly<Record<string, (id: string) => string>> = {
  "result: null": (id) => `{"jsonrpc":"2.0","id":${id},"result":null}`,
  "neither result nor error": (id) => `{"jsonrpc":"2.0","id":${id}}`,
  "both result and error": (id) =>
    `{"jsonrpc":"2.0","id":${id},"result":{},"error":{"code":1,"message":"x"}}`,
  "an error code that is a string": (id) =>
    `{"jsonrpc":"2.0","id":${id},"error":{"code":"ERR","message":"boo"}}`,
  "an error without a message": (id) => `{"jsonrpc":"2.0","id":${id},"error":{"code":-32603}}`,
  "an error that is a string": (id) => `{"jsonrpc":"2.0","id":${id},"error":"boo"}`,
  "an error code that is no safe integer": (id) =>
    `{"jsonrpc":"2.0","id":${id},"error":{"code":1e300,"message":"boo"}}`,
  "a result that is a list": (id) => `{"jsonrpc":"2.0","id":${id},"result":[]}`,
  "a result that is a string, in a list": (id) => `[{"jsonrpc":"2.0","id":${id},"result":"done"}]`,
};

/** What only deviates is read as it was meant. */
const deviations: Readonly<Record<string, (id: string) => string>> = {
  "no jsonrpc": (id) => `{"id":${id},"result":{"content":[]}}`,
  "result and a null error": (id) => `{"jsonrpc":"2.0","id":${id},"result":{"content":[]},"error":null}`,
  "a null _meta": (id) => `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"_meta":null}}`,
  "a _meta that is a text": (id) => `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"_meta":"x"}}`,
  "the method of its request": (id) => `{"id":${id},"method":"tools/call","result":{"content":[]}}`,
  "after a notification with a null result": (id) =>
    `[{"method":"notifications/x","result":null},{"id":${id},"result":{"content":[]}}]`,
  "in a list, after something else": (id) => `[7,{"jsonrpc":"2.0","id":${id},"result":{"content":[]}}]`,
  "after a notification with null params": (id) =>
    `[{"jsonrpc":"2.0","method":"notifications/x","params":null},{"jsonrpc":"2.0","id":${id},"result":{"content":[]}}]`,
};

const all = { ...answers, ...deviations };

const initialized = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: {} },
  serverInfo: { name: "careless", version: "1" },
};

/** A process that answers calls by `answer`, as `say` writes it. */
function onPipe(answer: string, say = "console.log(text)"): ServerTarget {
  const script = `
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      if (id === undefined) return;
      const text = ${JSON.stringify(answer)}.replaceAll("ID", JSON.stringify(id));
      const result = ${JSON.stringify(initialized)};
      if (method === "tools/call") ${say};
      else console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });`;
  return { command: process.execPath, args: ["-e", script] };
}

/** The same over HTTP, as JSON or as an event of a stream. */
async function onHttp(answer: string, type: "application/json" | "text/event-stream"): Promise<string> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (text: Buffer) => (body += text.toString()));
    request.on("end", () => {
      if (request.method !== "POST") return response.writeHead(405).end();
      const { id, method } = JSON.parse(body) as { id?: unknown; method: string };
      if (id === undefined) return response.writeHead(202).end();
      const json = { "content-type": "application/json" };
      if (method !== "tools/call") {
        const text = JSON.stringify({ jsonrpc: "2.0", id, result: initialized });
        return response.writeHead(200, json).end(text);
      }
      const text = answer.replaceAll("ID", JSON.stringify(id));
      response.writeHead(200, { "content-type": type });
      return response.end(type === "application/json" ? text : `id: 1\ndata: ${text}\n\n`);
    });
  });
  return addressOf(server);
}

async function addressOf(server: Server): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

async function called(server: ServerTarget): Promise<unknown> {
  const client = await connect(server, { protocolVersion: "2025-06-18" });
  onTestFinished(() => client.close());
  return client.callTool("t").catch((error: unknown) => error);
}

const doors = {
  "a pipe": async (answer: string) => onPipe(answer),
  HTTP: async (answer: string) => onHttp(answer, "application/json"),
  "a stream": async (answer: string) => onHttp(answer, "text/event-stream"),
};

for (const [door, open] of Object.entries(doors)) {
  it.each(Object.keys(answers))(`ends a call over ${door} that is answered with %s`, async (name) => {
    const error = await called(await open(all[name]?.("ID") ?? ""));
    expect(error).toMatchObject({ code: "protocol", message: expect.stringMatching(/^[^\n]{1,200}$/) });
  });

  it.each(Object.keys(deviations))(`reads an answer over ${door} with %s`, async (name) => {
    expect(await called(await open(all[name]?.("ID") ?? ""))).toEqual({ content: [] });
  });
}

it.each([
  ["two messages on a line", `{"method":"notifications/x"}{"id":ID,"result":{"content":[]}}`],
  ["more after it on its line", `{"jsonrpc":"2.0","id":ID,"result":{"content":[]}} done`],
])("reads an answer on a pipe with %s", async (_, answer) => {
  expect(await called(onPipe(answer))).toEqual({ content: [] });
});

it("reads the last answer of a process whose line has no end", async () => {
  const answer = `{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`;
  expect(await called(onPipe(answer, "process.stdout.write(text, () => process.exit())"))).toEqual({
    content: [],
  });
});

it("ends a call on a pipe whose answer is spread over several lines", async () => {
  const answer = '{\n  "jsonrpc": "2.0",\n  "id": ID,\n  "result": {\n    "content": []\n  }\n}';
  expect(await called(onPipe(answer))).toMatchObject({
    code: "protocol",
    message: expect.stringContaining("each message has to be one line") as string,
  });
});

it.each(["application/json", "text/event-stream"] as const)(
  "takes an error without an id for the answer to the request that it comes to, as %s",
  async (type) => {
    const answer = `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no such tool"}}`;
    expect(await called(await onHttp(answer, type))).toMatchObject({ code: "rpc", error: { code: -32602 } });
  },
);

/** A server of 2025-11-25 whose answers to all but the handshake are what `respond` does. */
async function respondingWith(
  respond: (request: IncomingMessage, response: ServerResponse, id: unknown) => unknown,
): Promise<string> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (text: Buffer) => (body += text.toString()));
    request.on("end", () => {
      const { id, method } = body === "" ? {} : (JSON.parse(body) as { id?: unknown; method?: string });
      if (method !== undefined && id === undefined) return response.writeHead(202).end();
      if (method !== "initialize") return respond(request, response, id);
      const result = { ...initialized, protocolVersion: "2025-11-25" };
      return response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
  });
  return addressOf(server);
}

it.each<[string, string, number, string]>([
  ["a stream that ends", "text/event-stream", 200, "connection"],
  ["HTTP 202", "text/plain", 202, "protocol"],
])("ends a read that %s leaves without an answer", async (_, type, status, code) => {
  const server = await respondingWith(({ method }, response) =>
    method === "POST"
      ? response.writeHead(status, { "content-type": type }).end()
      : response.writeHead(405).end(),
  );
  const client = await connect(server, { protocolVersion: "2025-11-25" });
  onTestFinished(() => client.close());
  await expect(client.readResource("a://b")).rejects.toMatchObject({ code });
});

it("waits for the answer to a request that the SDK's client resumes", async () => {
  const server = await respondingWith(({ method, headers }, response) => {
    if (method !== "GET" || headers["last-event-id"] !== "7") return response.writeHead(405).end();
    const answer = JSON.stringify({ jsonrpc: "2.0", id: 0, result: { content: [] } });
    return response.writeHead(200, { "content-type": "text/event-stream" }).end(`data: ${answer}\n\n`);
  });
  const client = await connect(server, { protocolVersion: "2025-11-25" });
  onTestFinished(() => client.close());
  const call = { method: "tools/call", params: { name: "a" } } as const;
  const result = await client.sdk.request(call, { resumptionToken: "7" });
  expect(result).toEqual({ content: [] });
});

it("reports nothing of a stream that ends after its request was cancelled", async () => {
  const ended = Promise.withResolvers<void>();
  const open: ServerResponse[] = [];
  const server = await respondingWith(({ method }, response) => {
    if (method !== "POST" || open.length > 0) return response.writeHead(405).end();
    open.push(response);
    return response.writeHead(200, { "content-type": "text/event-stream" }).write(": it goes on\n\n");
  });
  const errors: unknown[] = [];
  const client = await connect(server, { protocolVersion: "2025-11-25" });
  client.sdk.onerror = (error) => errors.push(error);
  onTestFinished(() => client.close());
  const cancel = new AbortController();
  const read = client.sdk.readResource({ uri: "a://b" }, { signal: cancel.signal });
  await vi.waitUntil(() => open.length > 0);
  cancel.abort();
  await expect(read).rejects.toThrow();
  for (const response of open) response.once("close", ended.resolve).end();
  await ended.promise;
  await client.sdk.ping().catch(() => undefined);
  await rest(); // what came before has been read
  expect(errors).toMatchObject([{ data: { status: 405 } }]); // of the ping
});

it("settles requests of the SDK's client as well", async () => {
  const client = await connect(onPipe("{}"), { protocolVersion: "2025-06-18" });
  onTestFinished(() => client.close());
  await expect(client.sdk.listTools()).rejects.toThrow();
});

it.each(["inherit", "ignore"] as const)(
  "says how a process ended, and what it wrote last, with stderr: %s",
  async (stderr) => {
    const script = `process.stderr.write("no database\\n", () => process.exit(3))`;
    const connecting = connect({ command: process.execPath, args: ["-e", script], stderr });
    await expect(connecting).rejects.toMatchObject({
      code: "connection",
      message: expect.stringMatching(/exited with code 3\. Its stderr ended with:\nno database$/),
    });
  },
);

it("says which signal ended a process while it worked, and names it by its command", async () => {
  const script = `
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      if (method === "tools/call") process.kill(process.pid, "SIGKILL");
      const result = ${JSON.stringify(initialized)};
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });`;
  const error = await called({ command: process.execPath, args: ["-e", script] });
  expect(error).toMatchObject({
    code: "connection",
    message: `The server's process (${basename(process.execPath)}) was ended by SIGKILL`,
  });
});

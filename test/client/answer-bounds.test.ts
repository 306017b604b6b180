import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { connect, TaskClientError, type ConnectOptions, type TaskClient } from "holdfast/client";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { fetchWithoutTimeout } from "../../src/client/transport/node-fetch.ts";

const mib = 2 ** 20;
const protocolVersion = "2025-06-18";
const initialized = {
  protocolVersion,
  capabilities: { tools: {} },
  serverInfo: { name: "endless", version: "1.0.0" },
};
const result = { content: [{ type: "text", text: "x" }] };

/** How much the server got rid of in the answers that do not end. */
let sent = 0;
afterEach(() => (sent = 0));

type Answer = (response: ServerResponse, id: unknown) => void;

/** Writes `start`, and then 64 MiB of it, or less if the client does not take them. */
function endless(type: string, status = 200, start = ""): Answer {
  const chunk = Buffer.alloc(mib, "a");
  return (response) => {
    response.writeHead(status, { "content-type": type }).write(start);
    const more = (): void => {
      while (sent < 64 * mib && !response.destroyed) {
        sent += chunk.length;
        if (!response.write(chunk)) return void response.once("drain", more);
      }
      response.destroy();
    };
    more();
  };
}

const kinds = {
  "a JSON text": endless("application/json", 200, '{"jsonrpc":"2.0","id":1,"result":{"x":"'),
  "an event": endless("text/event-stream", 200, 'data: {"x":"'),
};

/** A server of 2025-06-18, with other answers to some of its methods: the name of a GET is "GET". */
async function serve(answers: Readonly<Record<string, Answer>>): Promise<URL> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      const { id, method = "GET" } = JSON.parse(text === "" ? "{}" : text) as {
        id?: unknown;
        method?: string;
      };
      const answer = answers[method];
      if (answer !== undefined) answer(response, id);
      else if (method === "GET") response.writeHead(405).end();
      else if (id === undefined) response.writeHead(202).end();
      else {
        const said = method === "initialize" ? initialized : method === "ping" ? {} : result;
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id, result: said }));
      }
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
}

async function connectTo(
  answers: Readonly<Record<string, Answer>>,
  options: ConnectOptions = {},
): Promise<TaskClient> {
  const client = await connect(await serve(answers), { protocolVersion, maxAnswerBytes: mib, ...options });
  onTestFinished(async () => client.close());
  return client;
}

const tooLong = {
  code: "protocol",
  message: "The server sent more than 1 MiB in one message (maxAnswerBytes)",
};
const tooEarly = {
  code: "protocol",
  message: "The server sent more than 4 MiB before the handshake had ended",
};

describe.each(Object.entries(kinds))("%s that does not end", (_kind, answer) => {
  it("ends its call, and no other", async () => {
    const client = await connectTo({ "tools/call": answer });
    await expect(client.callTool("t", {})).rejects.toMatchObject(tooLong);
    expect(sent).toBeLessThan(32 * mib);
    await expect(client.sdk.ping()).resolves.toBeDefined();
  });

  it("ends a handshake, whatever the limit is later", async () => {
    await expect(connectTo({ initialize: answer }, { maxAnswerBytes: 64 * mib })).rejects.toMatchObject(
      tooEarly,
    );
    expect(sent).toBeLessThan(32 * mib);
  });

  it("ends the question for the newest protocol", async () => {
    const connecting = connectTo({ "server/discover": answer }, { protocolVersion: undefined as never });
    await expect(connecting).rejects.toMatchObject(tooLong);
    expect(sent).toBeLessThan(32 * mib);
  });

  it("ends a request of the SDK's client", async () => {
    const client = await connectTo({ "tools/list": answer });
    await expect(client.sdk.listTools()).rejects.toThrow();
    expect(sent).toBeLessThan(32 * mib);
  });
});

it.each([400, 404, 500])("takes no endless text of an error with HTTP %i", async (status) => {
  const client = await connectTo({ "tools/call": endless("text/plain", status) });
  await expect(client.callTool("t", {})).rejects.toThrow(TaskClientError);
  expect(sent).toBeLessThan(32 * mib);
});

it("takes no endless answer to a notification, whatever its content type", async () => {
  const events: Answer = (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const more = (): void => {
      while (sent < 64 * mib && !response.destroyed) {
        sent += 1024;
        if (!response.write(`: ${"a".repeat(1020)}\n\n`)) return void response.once("drain", more);
      }
      response.destroy();
    };
    more();
  };
  await connectTo({ "notifications/initialized": events });
  expect(sent).toBeLessThan(32 * mib);
});

it("ends the connection with the reason, if the stream belongs to no request", async () => {
  const open = Promise.withResolvers<Answer>();
  const client = await connectTo({
    GET: (response) => void open.promise.then((answer) => answer(response, undefined)),
    "tools/call": () => undefined,
  });
  const called = client.callTool("t", {});
  open.resolve(kinds["an event"]);
  await expect(called).rejects.toMatchObject(tooLong);
  expect(sent).toBeLessThan(32 * mib);
});

it("counts an event at a time, not the stream", async () => {
  const client = await connectTo({
    "tools/call": (response, id) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const progress = {
        method: "notifications/message",
        params: { level: "info", data: "a".repeat(mib / 2) },
      };
      for (let n = 0; n < 8; n++)
        response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...progress })}\n\n`);
      response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`);
    },
  });
  await expect(client.callTool("t", {})).resolves.toEqual(result);
});

it("counts what was decompressed", async () => {
  const bomb = gzipSync(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { x: "a".repeat(8 * mib) } }));
  const client = await connectTo({
    "tools/call": (response) => {
      response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" }).end(bomb);
    },
  });
  expect(bomb.length).toBeLessThan(mib);
  await expect(client.callTool("t", {})).rejects.toMatchObject(tooLong);
});

it("counts what a given fetch answers, and names the target of its redirects", async () => {
  const client = await connectTo({ "tools/call": kinds["a JSON text"] }, { fetch });
  await expect(client.callTool("t", {})).rejects.toMatchObject(tooLong);
  const moved = await serve({
    initialize: (response) => response.writeHead(307, { location: "http://other.invalid/" }).end("moved"),
  });
  const connecting = connect(moved, { protocolVersion, fetch: fetchWithoutTimeout });
  await expect(connecting).rejects.toThrow("Redirect to http://other.invalid/ not followed");
});

it("ends an HTTP+SSE connection with the reason", async () => {
  const stream: { write?: (data: string) => void } = {};
  const client = await connectTo({
    initialize: (response, id) => {
      // Refused at the URL of the stream, and accepted at that of messages.
      if (stream.write === undefined) return void response.writeHead(405).end();
      response.writeHead(202).end();
      stream.write(
        `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, result: initialized })}\n\n`,
      );
    },
    GET: (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("event: endpoint\ndata: /messages\n\n");
      stream.write = (data) => void response.write(data);
    },
    "tools/call": (response) => {
      response.writeHead(202).end();
      stream.write?.(`data: ${"a".repeat(2 * mib)}`);
    },
  });
  await expect(client.callTool("t", {})).rejects.toMatchObject(tooLong);
});

describe("over a pipe", () => {
  const process = (script: string): Parameters<typeof connect>[0] => ({
    command: globalThis.process.execPath,
    args: ["-e", script],
    stderr: "ignore",
  });

  it("ends a handshake", async () => {
    const server = process(`process.stdout.write("a".repeat(${5 * mib}))`);
    await expect(connect(server, { protocolVersion })).rejects.toMatchObject(tooEarly);
  });

  it("ends the connection with the reason", async () => {
    const server = process(`
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method } = JSON.parse(line);
        const said = (result) => JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n";
        if (method === "initialize") process.stdout.write(said(${JSON.stringify(initialized)}));
        if (method === "tools/call") process.stdout.write(said({ content: [], x: "a".repeat(${2 * mib}) }));
      });`);
    const client = await connect(server, { protocolVersion, maxAnswerBytes: mib });
    onTestFinished(async () => client.close());
    await expect(client.callTool("t", {})).rejects.toMatchObject(tooLong);
  });
});

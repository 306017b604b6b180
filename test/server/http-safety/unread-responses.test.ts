import { createServer, type ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { httpSettings } from "../../../src/server/http/http-options.ts";
import { listen } from "../../../src/server/http/listen.ts";
import { NodeRequests } from "../../../src/server/http/node-requests.ts";
import { UnreadBytes } from "../../../src/server/http/unread-bytes.ts";
import { head, RawConnection } from "../../kit/raw-connection.ts";
import { text, withTasks } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";

const mebibyte = 1024 * 1024;
/** More than the system takes for a client that does not read. */
const large = 16 * mebibyte;

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setImmediate();
}

/** A server that answers `/NUMBER` with so many bytes, to whoever the Authorization header names. */
async function sized(maxBytes: number) {
  const unread = new UnreadBytes(maxBytes);
  const responses: ServerResponse[] = [];
  const errors: unknown[] = [];
  const requests = new NodeRequests({
    handler: {
      answer: async ({ url, headers }, arrival) => {
        arrival.sender = { principal: headers.get("authorization") };
        return new Response("x".repeat(Number(new URL(url).pathname.slice(1))));
      },
      headed: (answer) => answer,
      unread,
    },
    limits: httpSettings({}),
    onError: (error) => errors.push(error),
    onResponse: (response) => responses.push(response),
  });
  const node = createServer((incoming, outgoing) => requests.handle(incoming, outgoing));
  const port = await listen(node, "127.0.0.1", 0);
  onTestFinished(() => {
    node.closeAllConnections();
    node.close();
  });
  const ask = async (bytes: number, holder: string): Promise<RawConnection> => {
    const before = responses.length;
    const raw = await RawConnection.to(port);
    raw.socket.pause();
    raw.send(`GET /${bytes} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${holder}\r\n\r\n`);
    await until(() => responses.length > before);
    return raw;
  };
  const read = async (bytes: number, holder: string): Promise<number> => {
    const headers = { authorization: holder };
    return (await (await fetch(`http://127.0.0.1:${port}/${bytes}`, { headers })).arrayBuffer()).byteLength;
  };
  return { unread, responses, errors, ask, read };
}

it("cuts off those of one who do not read, and answers the others", async () => {
  const maxBytes = 24 * mebibyte;
  const { unread, responses, errors, ask, read } = await sized(maxBytes);
  const raws: RawConnection[] = [];
  for (let n = 0; n < 8; n++) {
    raws.push(await ask(large, "mallory"));
    expect(await read(1_000, "ann")).toBe(1_000);
    expect(unread.bytes).toBeLessThanOrEqual(maxBytes);
  }
  expect(await read(large, "ann")).toBe(large);
  expect(unread.of("ann")).toBe(0);
  const ofMallory = responses.filter(({ req }) => req.headers.authorization === "mallory");
  const cut = ofMallory.filter(({ destroyed }) => destroyed);
  expect(cut.length).toBeGreaterThanOrEqual(5);
  expect(cut).toEqual(ofMallory.slice(0, cut.length));
  for (const { socket } of raws.slice(0, cut.length)) socket.resume();
  await Promise.all(raws.slice(0, cut.length).map(({ closed }) => closed));
  expect(errors).toEqual([]);
});

it("sends all of a large response to one who reads slowly, while others of the same principal do not", async () => {
  const { responses, ask } = await sized(4 * large);
  const { socket } = await ask(large, "mallory");
  socket.removeAllListeners("data").on("readable", () => undefined);
  let bytes = 0;
  const read = async (upTo: number): Promise<void> => {
    for (; bytes < upTo; await setImmediate()) bytes += (socket.read() as Buffer | null)?.byteLength ?? 0;
  };
  for (let n = 0; n < 3; n++) await ask(large, "mallory");
  const [ofReader, ...ofOthers] = responses.map((response) => response.req.socket);
  const written = (): number[] => responses.map((response) => response.req.socket.bytesWritten);
  // Until the system takes no more for those who do not read, and more for the one who does.
  for (let before = written(); ; before = written()) {
    await read(bytes + mebibyte);
    const [reader = 0, ...others] = written();
    if (reader > (before[0] ?? 0) && others.every((count, n) => count === before[n + 1])) break;
  }
  while (ofOthers[0]?.destroyed === false) await ask(large, "mallory");
  expect(ofReader?.destroyed).toBe(false);
  await read(large);
});

it("sends a response that is larger than all that may wait", async () => {
  const { unread, read } = await sized(mebibyte);
  expect(await Promise.all([read(large, "ann"), read(large, "bob")])).toEqual([large, large]);
  await until(() => unread.bytes === 0);
});

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** A call that asks to be told of its progress. */
function call(name: string, holder: string): string {
  const params = { name, arguments: {}, _meta: { ...meta, progressToken: 1 } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const own = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", `Mcp-Name: ${name}`];
  return `${head(`Content-Length: ${body.length}`, `Authorization: ${holder}`, ...own)}${body}`;
}

it("counts results for their principals", async () => {
  const { http, errors } = await serve({
    tools: () => undefined,
    server: (mcp) => mcp.registerTool("large", {}, () => text("x".repeat(large))),
    http: {
      maxOutgoingBytes: large,
      authenticate: async ({ headers }) => headers.get("authorization") ?? "",
    },
  });
  const raws: RawConnection[] = [];
  const ask = async (holder: string): Promise<void> => {
    const raw = await RawConnection.to(http.port, call("large", holder));
    await raw.statuses(); // it was made
    raw.socket.pause();
    raws.push(raw);
  };
  await ask("ann");
  for (let n = 0; n < 3; n++) await ask("mallory");
  const [ofAnn, ...ofMallory] = raws;
  for (const { socket } of raws) socket.resume();
  await ofMallory[0]?.closed;
  await until(() => (ofAnn?.received.length ?? 0) > large);
  expect(errors).toEqual([]);
});

it("reads a few large results at once, however many ask for them and read nothing", async () => {
  const store = memoryStore();
  const read = store.snapshot.bind(store);
  let [reading, most, all] = [0, 0, 0];
  const snapshot: typeof read = async (id, isVisible, reserve) => {
    let isLarge = false;
    const reserved = async (bytes: number): Promise<void> => {
      await reserve?.(bytes);
      isLarge = true;
      most = Math.max(most, ++reading);
      await setImmediate(); // as from a database
    };
    const found = await read(id, isVisible, reserved);
    if (isLarge) [reading, all] = [reading - 1, all + 1];
    return found;
  };
  const { http, errors } = await serve({
    tools: (tasks) => tasks.tool("large", {}, () => text("x".repeat(2 * mebibyte))),
    options: { store: Object.assign(store, { snapshot }) },
    http: { maxOutgoingBytes: 8 * mebibyte },
  });
  const peer = new StatelessClient(http.url);
  const taskId = await peer.start("large");
  await peer.until(taskId, "completed");
  const before = all;
  const params = { taskId, _meta: { ...meta, "io.modelcontextprotocol/clientCapabilities": withTasks } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/get", params });
  const own = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tasks/get", `Mcp-Name: ${taskId}`];
  const raws = await Promise.all(Array.from({ length: 30 }, () => RawConnection.to(http.port)));
  for (const raw of raws) {
    raw.socket.pause();
    raw.send(`${head(`Content-Length: ${body.length}`, ...own)}${body}`);
  }
  const { result } = await peer.get(taskId);
  expect(JSON.stringify(result).length).toBeGreaterThan(2 * mebibyte);
  await until(() => all === before + 31);
  expect(most).toBeLessThanOrEqual(4);
  expect(errors).toEqual([]);
});

it("breaks off a call that says more than its client reads", async () => {
  const ended = Promise.withResolvers<void>();
  const { http, errors } = await serve({
    tools: () => undefined,
    server: (mcp) =>
      mcp.registerTool("chats", {}, async ({ mcpReq }) => {
        const params = { progressToken: 1, progress: 1, message: "x".repeat(mebibyte) };
        while (!mcpReq.signal.aborted) {
          await mcpReq.notify({ method: "notifications/progress", params });
          await setImmediate();
        }
        ended.resolve();
        return text("said");
      }),
    http: { maxOutgoingBytes: 8 * mebibyte, authenticate: async () => "mallory" },
  });
  for (let n = 0; n < 3; n++) {
    const raw = await RawConnection.to(http.port);
    raw.socket.pause();
    raw.send(call("chats", "mallory"));
  }
  await ended.promise;
  expect(errors).toEqual([]);
});

it("begins with the next request of a connection when its client has read the answer before", async () => {
  const { responses, ask, read } = await sized(256 * mebibyte);
  const raw = await ask(large, "ann");
  for (let times = 0; times < 5; times++) {
    raw.send("GET /10 HTTP/1.1\r\nHost: localhost\r\nAuthorization: ann\r\n\r\n");
  }
  expect(await read(large, "bob")).toBe(large);
  expect(responses).toHaveLength(2); // that of ann, and that of bob
  raw.socket.resume();
  await until(() => responses.length === 7 && responses.every((response) => response.writableFinished));
});

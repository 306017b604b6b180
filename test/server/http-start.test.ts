import { connect } from "node:net";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type TaskServer } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { HoldfastError } from "../../src/task/fault.ts";
import { Held, storeFailed, watchedStore, type BeforeCall } from "../runtime/watched-store.ts";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

function taskServer(before: BeforeCall = () => undefined): TaskServer {
  const tasks = createTasks({ store: watchedStore(memoryStore(), before), onError: () => undefined });
  tasks.tool("bare", {}, () => text("bare"));
  return tasks.server(() => new McpServer({ name: "reports", version: "1.2.3" }));
}

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const { http } = await serve({ tools: () => undefined });
  await http.close();
  return http.port;
}

/** Sends half a request; resolves when the server has begun to read it, with a promise of the connection's end. */
async function beginRequest(port: number): Promise<{ readonly closed: Promise<void> }> {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  const head = ["POST /mcp HTTP/1.1", "Host: localhost", "Content-Length: 100", "Expect: 100-continue"];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  await new Promise((resolve) => socket.once("data", resolve));
  return { closed };
}

it("serves on another port after one that was taken, with the same tasks", async () => {
  const { http: other } = await serve({ tools: () => undefined });
  const server = taskServer();
  await expect(serveHttp(server, { port: other.port })).rejects.toMatchObject({ code: "address_in_use" });
  const http = await serveHttp(server, { port: 0 });
  onTestFinished(() => http.close());
  const peer = new StatelessClient(http.url);
  expect(await peer.ended(await peer.start("bare"))).toMatchObject({ result: text("bare") });
});

it("leaves tasks running that were started before, where its port is taken", async () => {
  const { http: other } = await serve({ tools: () => undefined });
  const server = taskServer();
  await server.start();
  await expect(serveHttp(server, { port: other.port })).rejects.toMatchObject({ code: "address_in_use" });
  const http = await serveHttp(server, { port: 0 });
  onTestFinished(() => http.close());
  await new StatelessClient(http.url).start("bare");
});

it("frees its port where the store cannot be opened, and serves there when it can", async () => {
  let locked = true;
  const server = taskServer((call) => {
    if (call === "open" && locked) throw new HoldfastError("store_locked", "in use");
  });
  const port = await freePort();
  await expect(serveHttp(server, { port })).rejects.toMatchObject({ code: "store_locked" });
  locked = false;
  const http = await serveHttp(server, { port });
  onTestFinished(() => http.close());
  await new StatelessClient(http.url).start("bare");
});

it("lets requests wait that come while the tasks are being started", async () => {
  const recovering = new Held("renew");
  const port = await freePort();
  const starting = serveHttp(taskServer(recovering.before), { port });
  await recovering.reached;
  const called = new StatelessClient(`http://127.0.0.1:${port}/mcp`).call("bare");
  let answered = false;
  void called.then(() => (answered = true));
  // Answered by the same process, so the call has arrived by then.
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  expect(answered).toBe(false);
  recovering.open();
  const http = await starting;
  onTestFinished(() => http.close());
  expect((await called).result).toMatchObject({ resultType: "task" });
});

it("ends a start that fails although a client is in the middle of a request, and frees its port", async () => {
  const recovering = new Held("renew");
  const port = await freePort();
  const server = taskServer(async (call, id) => {
    await recovering.before(call, id);
    if (call === "renew") throw storeFailed();
  });
  const starting = serveHttp(server, { port });
  await recovering.reached;
  const { closed } = await beginRequest(port);
  recovering.open();
  await expect(starting).rejects.toMatchObject({ code: "store_failed" });
  await closed;
  await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow();
});

it("closes although a client is in the middle of a request that it never ends", async () => {
  const { http } = await serve({ tools: () => undefined });
  const { closed } = await beginRequest(http.port);
  await http.close();
  await closed;
});

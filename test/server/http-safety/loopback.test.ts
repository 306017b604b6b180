import { createServer } from "node:http";
import { networkInterfaces } from "node:os";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type TaskServer } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { listen } from "../../../src/server/http/listen.ts";

function bare(): TaskServer {
  return createTasks({ store: memoryStore() }).server(() => new McpServer({ name: "reports", version: "1" }));
}

const outside = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .filter(({ internal }) => !internal)
  .map(({ address }) => address);

it.each([
  "0.0.0.0",
  "::",
  "",
  "0",
  "0x7f.1",
  "127.1",
  "127.0.0.256",
  "127.evil.example",
  "::ffff:0.0.0.0",
  "[::]",
  "localhost.evil.example",
  "reports.example",
  ...outside,
])("does not listen where others reach it, without a word on who may call: %j [B-122]", async (host) => {
  const refused = serveHttp(bare(), { host, port: 0 });
  await expect(refused).rejects.toMatchObject({
    code: "configuration",
    message: expect.stringMatching(/anonymous|^serveHttp: host must be/) as unknown,
  });
});

it.each(["127.0.0.1", "127.0.0.2", "localhost"])(
  "listens on %s, which is this machine alone",
  async (host) => {
    const http = await serveHttp(bare(), { host, port: 0 });
    onTestFinished(() => http.close());
    expect((await fetch(new URL("/healthz", http.url))).status).toBe(200);
  },
);

it("does not listen on a localhost that is another address", async () => {
  const server = createServer();
  onTestFinished(() => void server.close());
  // As where the system resolves the name to another address.
  const bind = server.listen.bind(server);
  server.listen = ((port: number, _host: string, done: () => void) =>
    bind(port, "0.0.0.0", done)) as typeof server.listen;
  await expect(listen(server, "localhost", 0)).rejects.toMatchObject({
    code: "configuration",
    message: "localhost resolves to 0.0.0.0, which other machines can reach.",
  });
  expect(server.listening).toBe(false);
});

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/client/clock.ts";
import { fetchWithinOrigin, StandaloneStream } from "../../src/client/transport/sse-transport.ts";
import { fetchWithoutTimeout } from "../../src/client/transport/node-fetch.ts";

const said: JSONRPCMessage = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };

/** A server whose stream is elsewhere, and the addresses that it was asked for with their tokens. */
async function serve(location: (elsewhere: string) => string) {
  const asked: string[] = [];
  const start = async (name: string): Promise<string> => {
    const server = createServer(({ url, headers }, response) => {
      asked.push(`${name}${url} ${headers.authorization}`);
      if (url === "/mcp") return response.writeHead(307, { location: location(elsewhere) }).end();
      response.writeHead(200, { "content-type": "text/event-stream" });
      return response.write(`data: ${JSON.stringify(said)}\n\n`);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const elsewhere = await start("elsewhere");
  return { url: new URL("/mcp", await start("here")), asked };
}

/** Opens the stream as the SDK's transport would; resolves with what comes first. */
async function open(url: URL): Promise<JSONRPCMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<JSONRPCMessage>();
  const stream = new StandaloneStream({
    bounded: (response) => response,
    fetch: fetchWithoutTimeout,
    clock: systemClock,
    onMessage: resolve,
    onError: reject,
    onLost: () => undefined,
    authorization: async () => "Bearer s3cret",
  });
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  await stream.intercepting(fetchWithoutTimeout)(url, { method: "GET", signal: leaving.signal });
  return promise;
}

it("follows a redirect within its origin", async () => {
  const { url, asked } = await serve(() => "/mcp/");
  expect(await open(url)).toEqual(said);
  expect(asked).toEqual(["here/mcp Bearer s3cret", "here/mcp/ Bearer s3cret"]);
});

it("does not send its token to another origin", async () => {
  const { url, asked } = await serve((elsewhere) => `${elsewhere}/mcp/`);
  const response = await fetchWithinOrigin(fetchWithoutTimeout, url, {
    headers: { authorization: "Bearer s3cret" },
  });
  expect(response.status).toBe(307);
  expect(asked).toEqual(["here/mcp Bearer s3cret"]);
});

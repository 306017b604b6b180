import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectWith } from "../../src/client/connect.ts";
import { fetchWithoutTimeout } from "../../src/client/transport/node-fetch.ts";
import { sent } from "./answers.ts";
import { FakeClock } from "./fake-clock.ts";
import { ScriptedServer } from "./scripted-server.ts";

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Has Node's own `fetch` give up after so many milliseconds without a part of the response, in place of 300 seconds. */
function shortenDefaults(ms: number): void {
  void Response; // has Node load its fetch
  const own = globalThis as unknown as Record<symbol, { constructor: new (options: object) => object }>;
  const places = Object.getOwnPropertySymbols(own).filter(({ description }) =>
    description?.startsWith("undici.globalDispatcher"),
  );
  for (const place of places) {
    const before = own[place];
    if (before === undefined) continue;
    own[place] = new before.constructor({ headersTimeout: ms, bodyTimeout: ms }) as typeof before;
    onTestFinished(() => void (own[place] = before));
  }
}

it("waits for a server that answers a call later than Node's fetch would wait for its headers", async () => {
  const server = await ScriptedServer.start();
  onTestFinished(async () => server.stop());
  const gaveUp = Promise.withResolvers<void>();
  server.script("tools/call", async () => {
    await gaveUp.promise;
    return { result: sent };
  });
  shortenDefaults(50);
  const client = await connectWith(server.url, { listen: false }, new FakeClock());
  onTestFinished(async () => client.close());
  const calling = client.callTool("publish_report");
  calling.catch(() => undefined);
  await server.sees("tools/call", 1);
  const silent = await serve(() => undefined);
  await expect(fetch(silent)).rejects.toMatchObject({ cause: { code: "UND_ERR_HEADERS_TIMEOUT" } });
  gaveUp.resolve();
  expect(await calling).toEqual(sent);
});

describe("fetchWithoutTimeout", () => {
  it("sends what it is given, and gives what comes", async () => {
    const url = await serve((request, response) => {
      response.writeHead(201, "Made", { "set-cookie": ["a=1", "b=2"] });
      response.write(`${request.method} ${String(request.headers["x-own"])} `);
      request.pipe(response);
    });
    const init = { method: "POST", headers: { "x-own": "7" }, body: "größer" };
    const response = await fetchWithoutTimeout(url, init);
    expect(response).toMatchObject({ status: 201, statusText: "Made", ok: true });
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(await response.text()).toBe("POST 7 größer");
  });

  it.each([
    ["gzip", gzipSync("zipped")],
    ["identity", Buffer.from("zipped")],
  ])("reads a body that is encoded as %s", async (encoding, body) => {
    const url = await serve((_, response) => {
      response.writeHead(200, { "content-encoding": encoding }).end(body);
    });
    expect(await (await fetchWithoutTimeout(url)).text()).toBe("zipped");
  });

  it("leaves redirects to its caller, and takes a response without a body", async () => {
    const url = await serve((request, response) => {
      response.writeHead(request.method === "DELETE" ? 204 : 307, { location: "/other" }).end();
    });
    expect(await fetchWithoutTimeout(url)).toMatchObject({ status: 307, ok: false });
    expect(await fetchWithoutTimeout(url, { method: "DELETE" })).toMatchObject({ status: 204, body: null });
  });

  it("rejects with the signal's reason, before the response and in its body", async () => {
    const received = Promise.withResolvers<void>();
    const url = await serve((request, response) => {
      received.resolve();
      if (request.url === "/part") response.write("part");
    });
    const leaving = new AbortController();
    const silent = fetchWithoutTimeout(url, { signal: leaving.signal });
    const { body } = await fetchWithoutTimeout(new URL("part", url), { signal: leaving.signal });
    const reader = body?.getReader();
    expect((await reader?.read())?.value).toEqual(new TextEncoder().encode("part"));
    await received.promise;
    const reason = new Error("enough");
    leaving.abort(reason);
    await expect(silent).rejects.toBe(reason);
    await expect(reader?.read()).rejects.toThrow();
    await expect(fetchWithoutTimeout(url, { signal: leaving.signal })).rejects.toBe(reason);
  });

  it("says why a server was not reached, and rejects a body that breaks off", async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { "content-length": "10" });
      response.write("part", () => response.destroy());
    });
    await expect((await fetchWithoutTimeout(url)).text()).rejects.toThrow();
    await expect(fetchWithoutTimeout("http://127.0.0.1:1/")).rejects.toMatchObject({
      message: "fetch failed",
      cause: { code: "ECONNREFUSED" },
    });
    await expect(fetchWithoutTimeout("file:///etc/hosts")).rejects.toThrow();
  });
});

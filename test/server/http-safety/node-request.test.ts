import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { type HttpRequest, nodeRequest, webOf } from "../../../src/server/http/http-request.ts";
import { head, RawConnection } from "../../kit/raw-connection.ts";

/** A request whose client has sent half of it. */
async function half(): Promise<{
  readonly raw: RawConnection;
  readonly incoming: IncomingMessage;
  readonly request: HttpRequest;
}> {
  const server = createServer();
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const arrived = once(server, "request");
  const raw = await RawConnection.to(
    (server.address() as AddressInfo).port,
    `${head("Content-Length: 10")}12345`,
  );
  const [incoming, outgoing] = (await arrived) as [IncomingMessage, ServerResponse];
  incoming.on("error", () => undefined);
  const request = nodeRequest(incoming, outgoing);
  if (request === undefined) throw new Error("It was taken for none.");
  return { raw, incoming, request };
}

const ways = [
  ["as it is", async (request: HttpRequest) => void (await request.arrayBuffer())],
  ["as a web Request", async (request: HttpRequest) => void (await webOf(request).text())],
] as const;

it.each(ways)("ends a body whose client left before it was read %s", async (_, read) => {
  const { raw, incoming, request } = await half();
  const closed = new Promise((resolve) => incoming.once("close", resolve));
  raw.socket.destroy();
  await closed;
  await expect(read(request)).rejects.toThrow("aborted");
});

it.each(ways)("ends a body whose client leaves while it is read %s", async (_, read) => {
  const { raw, request } = await half();
  const text = read(request);
  raw.socket.destroy();
  await expect(text).rejects.toThrow("aborted");
});

it("throws away what comes after the reader has lost interest", async () => {
  const { raw, incoming, request } = await half();
  const reader = request.body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("12345");
  await reader?.cancel();
  raw.send("67890");
  await once(incoming, "end");
  expect(incoming.complete).toBe(true);
});

it("reads a body as a stream beside a copy of it, and makes a web Request of what was read", async () => {
  for (const isCopied of [false, true]) {
    const { raw, request } = await half();
    const copy = isCopied ? webOf(request).clone().text() : Promise.resolve("1234567890");
    raw.send("67890");
    expect(await new Response(request.body).text()).toBe("1234567890");
    expect([await copy, webOf(request).method]).toEqual(["1234567890", "POST"]);
  }
});

it("reads a body whole, also one that somebody has copied, and only once", async () => {
  for (const isCopied of [false, true]) {
    const { raw, request } = await half();
    const copy = isCopied ? webOf(request).clone().text() : Promise.resolve("1234567890");
    const whole = request.arrayBuffer();
    raw.send("67890");
    expect(new TextDecoder().decode(await whole)).toBe("1234567890");
    expect([await copy, request.bodyUsed]).toEqual(["1234567890", true]);
    expect(
      await webOf(request)
        .text()
        .catch(() => ""),
    ).toBe("");
  }
});

import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { fromNode } from "../../../src/server/http/node-request.ts";
import { head, RawConnection } from "../../kit/raw-connection.ts";

/** A request whose client has sent half of it. */
async function half(): Promise<{
  readonly raw: RawConnection;
  readonly incoming: IncomingMessage;
  readonly request: Request;
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
  const [incoming] = (await arrived) as [IncomingMessage];
  incoming.on("error", () => undefined);
  const request = fromNode(incoming, new AbortController().signal);
  if (request === undefined) throw new Error("It was taken for none.");
  return { raw, incoming, request };
}

it("ends a body whose client left before it was read", async () => {
  const { raw, incoming, request } = await half();
  const closed = new Promise((resolve) => incoming.once("close", resolve));
  raw.socket.destroy();
  await closed;
  await expect(request.text()).rejects.toThrow("aborted");
});

it("ends a body whose client leaves while it is read", async () => {
  const { raw, request } = await half();
  const read = request.text();
  raw.socket.destroy();
  await expect(read).rejects.toThrow("aborted");
});

it("throws away what comes after the reader has lost interest", async () => {
  const { raw, incoming, request } = await half();
  const reader = (request.body as ReadableStream<Uint8Array>).getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toBe("12345");
  await reader.cancel();
  raw.send("67890");
  await once(incoming, "end");
  expect(incoming.complete).toBe(true);
});

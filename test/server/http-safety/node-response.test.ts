import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { expect, it } from "vitest";
import { ResponseSender } from "../../../src/server/http/node-requests.ts";
import { UnreadBytes } from "../../../src/server/http/unread-bytes.ts";
import { rest } from "../../../src/testing/clocks.ts";

/** A connection whose client takes what is sent when the test says so. */
class StubSocket extends Socket {
  readonly timeouts: number[] = [];
  readonly #sent: Uint8Array[] = [];
  #taken: (() => void) | undefined;

  get sent(): string {
    return Buffer.concat(this.#sent).toString();
  }

  override _write(chunk: Buffer | string, _encoding: string, taken: () => void): void {
    this.#sent.push(Buffer.from(chunk));
    this.#taken = taken;
  }

  override _writev(chunks: { chunk: Buffer | string }[], taken: () => void): void {
    for (const { chunk } of chunks) this.#sent.push(Buffer.from(chunk));
    this.#taken = taken;
  }

  override setTimeout(ms: number): this {
    this.timeouts.push(ms);
    return this;
  }

  override resetAndDestroy(): this {
    return this.destroy();
  }

  letGo(): void {
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.();
  }
}

function begun() {
  const unread = new UnreadBytes(1024 * 1024);
  const socket = new StubSocket();
  const response = new ServerResponse(new IncomingMessage(socket));
  response.assignSocket(socket);
  // As a server does.
  socket.on("drain", () => response.emit("drain")).on("close", () => response.emit("close"));
  return { unread, socket, response, sender: new ResponseSender(unread, 500) };
}

it("counts a small answer until it is taken, and waits no longer than it may", async () => {
  const { unread, socket, response, sender } = begun();
  await sender.send({ status: 200, json: "small" }, response, "ann");
  expect([unread.of("ann"), socket.timeouts]).toEqual([response.writableLength, [500]]);
  expect(unread.of("ann")).toBeGreaterThan(0);
  socket.letGo();
  await rest();
  expect([response.writableFinished, socket.timeouts]).toEqual([true, [500, 0]]);
  response.emit("close");
  expect([unread.bytes, socket.sent.endsWith("small")]).toEqual([0, true]);
});

it.each([
  ["in text", (json: string) => ({ status: 200, json })],
  ["in a response", (text: string) => new Response(text)],
])("sends a large answer %s in pieces, and counts those that are left", async (_, answerOf) => {
  const { unread, socket, response, sender } = begun();
  const text = `${"€".repeat(40_000)}${"😀".repeat(15_000)}`;
  const sending = sender.send(answerOf(text), response, "ann");
  await rest();
  expect(unread.of("ann")).toBeGreaterThanOrEqual(180_000);
  socket.letGo();
  await rest();
  expect(unread.of("ann")).toBeLessThan(180_000 - 60_000);
  while (!response.writableEnded) {
    socket.letGo();
    await rest();
  }
  await sending;
  socket.letGo();
  await rest();
  expect(unread.bytes).toBe(0);
  expect(socket.sent.split("\r\n\r\n")[1]).toBe(text);
});

it("drops what is left of an answer that is cut off", async () => {
  const { unread, socket, response, sender } = begun();
  const sending = sender.send({ status: 200, json: "x".repeat(600_000) }, response, "ann");
  for (const bytes of [300_000, 300_000]) unread.open("ann", () => undefined).hold(bytes);
  await sending;
  expect([socket.destroyed, unread.of("ann")]).toEqual([true, 600_000]);
});

import { InMemoryTransport, type JSONRPCMessage } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/client/clock.ts";
import type { Reply } from "../../src/client/reply/reply.ts";
import { RawRequester } from "../../src/client/transport/raw-requester.ts";

/** A requester, and the message handler through which its server answers. */
async function connected() {
  const [transport, server] = InMemoryTransport.createLinkedPair();
  const received: JSONRPCMessage[] = [];
  server.onmessage = (message) => void received.push(message);
  await server.start();
  const requester = new RawRequester(
    { name: "test", shownAs: "test", kind: undefined, transport, peer: {} },
    systemClock,
  );
  await requester.start();
  onTestFinished(() => requester.close());
  return { requester, received, answer: (message: JSONRPCMessage) => transport.onmessage?.(message) };
}

it("passes on an answer that arrives in the same moment in which the caller gives up", async () => {
  const { requester, received, answer } = await connected();
  const late: Reply<object>[] = [];
  const caller = new AbortController();
  let id = "";
  const reply = requester.request("tools/call", {}, caller.signal, {
    onSent: (request) => (id = request.id),
    afterAbort: { kind: "goes_on", onReply: (answered) => late.push(answered) },
  });
  caller.abort(new Error("enough"));
  answer({ jsonrpc: "2.0", id, result: { task: "t" } });
  await expect(reply).rejects.toThrow("enough");
  expect(late).toEqual([{ kind: "value", value: { task: "t" } }]);
  expect(received.map((message) => "method" in message && message.method)).toEqual(["tools/call"]);
});

it("cancels a request on the server when its caller gives up, and ignores the answer", async () => {
  const { requester, received, answer } = await connected();
  const caller = new AbortController();
  let id = "";
  const onSent = (request: { readonly id: string }): void => void (id = request.id);
  const reply = requester.request("tools/call", {}, caller.signal, { onSent });
  caller.abort(new Error("enough"));
  answer({ jsonrpc: "2.0", id, result: {} });
  await expect(reply).rejects.toThrow("enough");
  expect(received.slice(1)).toMatchObject([{ method: "notifications/cancelled", params: { requestId: id } }]);
});

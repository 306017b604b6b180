import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { SharedConnection } from "../../src/cli/session/session-process.ts";

type Loose = Record<string, unknown>;
const rpc = (message: Loose): JSONRPCMessage => ({ jsonrpc: "2.0", ...message }) as unknown as JSONRPCMessage;

function connection() {
  const sent: JSONRPCMessage[] = [];
  const shared = new SharedConnection((message) => sent.push(message));
  const command = () => {
    const got: JSONRPCMessage[] = [];
    const peer = (message: JSONRPCMessage): void => void got.push(message);
    shared.attach(peer);
    return {
      got,
      say: (message: Loose) => shared.fromPeer(peer, rpc(message)),
      leave: () => shared.detach(peer),
    };
  };
  return { sent, shared, command, hear: (message: Loose) => shared.fromServer(rpc(message)) };
}

it("gives each command its own answers, progress and subscription under its own numbers", () => {
  const { sent, command, hear } = connection();
  const [one, other] = [command(), command()];
  for (const each of [one, other])
    each.say({ id: 0, method: "tools/call", params: { name: "t", _meta: { progressToken: 0 } } });
  expect(sent).toMatchObject([
    { id: 1, params: { name: "t", _meta: { progressToken: 1 } } },
    { id: 2, params: { _meta: { progressToken: 2 } } },
  ]);
  hear({ method: "notifications/progress", params: { progressToken: 2, progress: 5 } });
  const key = "io.modelcontextprotocol/subscriptionId";
  hear({ method: "notifications/tools/list_changed", params: { _meta: { [key]: 1 } } });
  hear({ id: 2, result: { n: 2 } });
  hear({ id: 1, result: { n: 1, _meta: { [key]: 1 } } });
  hear({ id: 1, result: { n: "again" } });
  hear({ method: "notifications/message", params: { data: "to all" } });
  const toAll = rpc({ method: "notifications/message", params: { data: "to all" } });
  expect(one.got).toEqual([
    rpc({ method: "notifications/tools/list_changed", params: { _meta: { [key]: 0 } } }),
    rpc({ id: 0, result: { n: 1, _meta: { [key]: 0 } } }),
    toAll,
  ]);
  expect(other.got).toEqual([
    rpc({ method: "notifications/progress", params: { progressToken: 0, progress: 5 } }),
    rpc({ id: 0, result: { n: 2 } }),
    toAll,
  ]);
});

it("makes the handshake once, and again only if it failed", () => {
  const { sent, command, hear } = connection();
  const one = command();
  one.say({ id: 0, method: "initialize", params: {} });
  hear({ id: 1, error: { code: -32602, message: "no" } });
  one.say({ id: 1, method: "initialize", params: {} });
  hear({ id: 2, result: { protocolVersion: "2025-11-25" } });
  one.say({ method: "notifications/initialized" });
  one.leave();
  const other = command();
  other.say({ id: 0, method: "initialize", params: {} });
  other.say({ method: "notifications/initialized" });
  expect(other.got).toEqual([rpc({ id: 0, result: { protocolVersion: "2025-11-25" } })]);
  expect(sent.map((message) => ("method" in message ? message.method : ""))).toEqual([
    "initialize",
    "initialize",
    "notifications/initialized",
  ]);
});

it("cancels what a command cancels or leaves, but not a call that it leaves", () => {
  const { sent, command, hear } = connection();
  const [one, other] = [command(), command()];
  one.say({ id: 5, method: "tools/call" });
  one.say({ id: 6, method: "resources/read" });
  other.say({ id: 6, method: "resources/read" });
  other.say({ method: "notifications/cancelled", params: { requestId: 6, reason: "enough" } });
  other.say({ method: "notifications/cancelled", params: { requestId: 5 } }); // not its own
  one.leave();
  hear({ id: 1, result: {} });
  expect(sent.slice(3)).toEqual([
    rpc({ method: "notifications/cancelled", params: { requestId: 3, reason: "enough" } }),
    rpc({ method: "notifications/cancelled", params: { requestId: 2 } }),
  ]);
  expect(one.got).toEqual([]);
});

it("asks the command with the newest request, then the next one, and takes one answer", () => {
  const { sent, command, hear } = connection();
  const question = rpc({ id: "q", method: "elicitation/create", params: {} });
  hear({ id: "q", method: "elicitation/create", params: {} });
  const one = command();
  expect(one.got).toEqual([question]);
  const other = command();
  other.say({ id: 1, method: "tools/call" });
  hear({ id: "r", method: "ping" });
  expect([one.got.length, other.got]).toEqual([1, [rpc({ id: "r", method: "ping" })]]);
  one.leave();
  expect(other.got).toHaveLength(2);
  other.say({ id: "q", result: { action: "accept" } });
  other.say({ id: "q", result: { action: "decline" } });
  other.say({ id: "nobody asked", result: {} });
  expect(sent.slice(1)).toEqual([rpc({ id: "q", result: { action: "accept" } })]);
});

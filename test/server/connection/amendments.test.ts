import { InMemoryTransport, type JSONRPCMessage } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { defaultSettings } from "../../../src/runtime/options.ts";
import { Registry } from "../../../src/runtime/tool/registry.ts";
import { DispatchTransport } from "../../../src/server/dispatch/dispatch-transport.ts";
import { PlainPolicies } from "../../../src/server/plain/plain-policies.ts";
import { SessionDispatcher } from "../../../src/server/sessions/session-dispatcher.ts";
import type { SessionServices } from "../../../src/server/sessions/session-context.ts";
import { onePipe } from "../../../src/server/streams.ts";
import { rest } from "../../../src/testing/clocks.ts";

it.each(["tools/list", "initialize"])(
  "forgets the amendment of the answer to a cancelled %s",
  async (method) => {
    const registry = new Registry();
    registry.add("own", {}, () => ({ content: [] }));
    const policies = new PlainPolicies(registry, {
      plain: "wait",
      plainDeadlineMs: 0,
      plainGraceMs: 0,
      pollingTools: {},
    });
    // It needs no more of them to amend an answer.
    const runtime = { registry, options: defaultSettings };
    const services = { runtime, plain: { policies }, subscriptions: {} } as unknown as SessionServices;
    const [client, wire] = InMemoryTransport.createLinkedPair();
    const transport = new DispatchTransport(
      wire,
      new SessionDispatcher(services, { principal: null }, onePipe),
    );
    const answers: JSONRPCMessage[] = [];
    client.onmessage = (message) => void answers.push(message);
    await transport.start();
    await client.start();
    const result = { tools: [{ name: "own", execution: {} }], protocolVersion: "2025-11-25" };
    await client.send({ jsonrpc: "2.0", id: 1, method });
    await transport.send({ jsonrpc: "2.0", id: 1, result });
    await client.send({ jsonrpc: "2.0", id: 1, method });
    await client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
    // The id belongs to another request now, whose answer is as its author made it.
    await transport.send({ jsonrpc: "2.0", id: 1, result });
    await rest();
    const [amended, asItIs] = answers;
    expect(amended).not.toEqual({ jsonrpc: "2.0", id: 1, result });
    expect(asItIs).toEqual({ jsonrpc: "2.0", id: 1, result });
  },
);
